#include "tools/viewer/page.h"

#include "sim/run/markup.h"
#include "tools/viewer/assets.h"

namespace xpusim::viewer {
namespace {

/// JSON as it may stand in a script element.
std::string in_script(const nlohmann::ordered_json& data) {
  std::string out;
  for (const char c : data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string page(const nlohmann::ordered_json& data) {
  std::string out;
  std::string_view rest = kPage;
  const auto fill = [&](std::string_view mark, std::string_view with) {
    const std::size_t at = rest.find(mark);
    out += rest.substr(0, at);
    out += with;
    rest.remove_prefix(at + mark.size());
  };
  const std::string kernel = data["recording"].value("kernel", "");
  fill("@TITLE@", run::escaped(kernel + " on " + data.value("machine", "")));
  fill("@STYLE@", kStyle);
  fill("@DATA@", in_script(data));
  fill("@SCRIPT@", kScript);
  out += rest;
  return out;
}

}  // namespace xpusim::viewer
