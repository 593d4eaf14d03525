#include "sim/config/text_check.h"

#include <fmt/format.h>

#include <cstdint>

namespace xpusim::config {

namespace {

/// Bytes of the UTF-8 character that starts at `text[i]`; 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
  const std::uint8_t first = byte(i);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  }
  const std::uint8_t second = byte(i + 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_large = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

void check_text(std::string_view text, const std::string& file, Diagnostics& problems) {
  int line = 1, column = 1;
  bool indentation = true, tab_seen = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      problems.error({file, line, column}, "this is not UTF-8 text");
      return;
    }
    const char c = text[i];
    if (c == '\n') {
      ++line;
      column = 1;
      indentation = true;
      tab_seen = false;
      ++i;
      continue;
    }
    if (c == '\t' && indentation && !tab_seen) {
      problems.error({file, line, column}, "a tab in the indentation; use spaces");
      tab_seen = true;  // once a line
    }
    const auto code = static_cast<std::uint8_t>(c);
    if ((code < 0x20 && c != '\t' && c != '\r') || code == 0x7f) {
      problems.error({file, line, column}, fmt::format("a control character (0x{:02x})", code));
      return;
    }
    if (c != ' ' && c != '\t') indentation = false;
    i += length;
    ++column;
  }
}

}  // namespace xpusim::config
