#include "sim/config/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace xpusim {

namespace {

/// Longest word that did_you_mean looks at; the edit distance takes the product of two lengths.
constexpr std::size_t kLongestWord = 64;

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "error";
}

/// The text on one line: a value that spans lines may be part of a message.
std::string one_line(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c != '\r') {
      out += c;
    }
  }
  return out;
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Optimal string alignment distance, in half steps: an insertion, deletion, substitution or swap
/// of neighbours costs 2, a letter that differs only in case costs 1.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = 2 * j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = 2 * i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same_letter = lower(a[i - 1]) == lower(b[j - 1]);
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : same_letter ? 1 : 2;
      row[j] = std::min({last[j] + 2, row[j - 1] + 2, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 2);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string SourcePosition::str() const {
  if (line == 0) return file;
  if (column == 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

std::string Diagnostic::str() const {
  const std::string place = where.str();
  const std::string text = one_line(message);
  if (place.empty()) return fmt::format("{}: {}", name_of(severity), text);
  return fmt::format("{}: {}: {}", place, name_of(severity), text);
}

void Diagnostics::append(const Diagnostics& other) {
  if (&other == this) return;
  list_.insert(list_.end(), other.list_.begin(), other.list_.end());
}

bool Diagnostics::has_errors() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

std::string Diagnostics::str() const {
  std::string text;
  for (const Diagnostic& d : list_) {
    text += d.str();
    text += '\n';
  }
  return text;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return "";
  const std::string* nearest = nullptr;
  // A third of the letters may be wrong, but at least one and at most three.
  std::size_t allowed = 2 * std::clamp<std::size_t>(word.size() / 3, 1, 3);
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongestWord) continue;
    const std::size_t distance = edit_distance(word, candidate);
    // A one-letter word must keep its letter.
    if (distance > allowed || distance >= 2 * std::max(word.size(), candidate.size())) continue;
    if (nearest != nullptr && distance == allowed) continue;  // the first of equals stands
    nearest = &candidate;
    allowed = distance;
  }
  return nearest == nullptr ? "" : fmt::format("; did you mean '{}'?", *nearest);
}

}  // namespace xpusim
