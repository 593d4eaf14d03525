#include <cstdio>
#include <cstdlib>

#include "sim/kernel/grammar/enums.h"
#include "sim/kernel/grammar/format_element.h"

namespace xpusim::kernel {
namespace {

[[noreturn]] void bad_format(const OpInfo& info, const std::string& what) {
  std::fprintf(stderr, "kernel: bad format of '%s': %s in \"%s\"\n", info.name.c_str(),
               what.c_str(), info.format.c_str());
  std::abort();
}

/// Compiles the text of a format.
class Compiler {
 public:
  explicit Compiler(const OpInfo& info) : info_(info), rest_(info.format) {}

  std::vector<Element> compile() {
    std::vector<Element> elements = sequence(nullptr);
    if (!rest_.empty()) bad_format(info_, "stray '" + std::string(rest_) + "'");
    return elements;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }

  std::vector<Element> sequence(std::size_t* anchor) {
    std::vector<Element> elements;
    for (skip_space(); !rest_.empty() && rest_[0] != ')'; skip_space()) {
      elements.push_back(element());
      if (!rest_.empty() && rest_[0] == '^') {
        if (!anchor) bad_format(info_, "'^' outside of a group");
        *anchor = elements.size() - 1;
        rest_.remove_prefix(1);
      }
    }
    return elements;
  }

  std::string_view word() {
    std::size_t n = 0;
    while (n < rest_.size() && rest_[n] != ' ' && rest_[n] != ')' && rest_[n] != '(' &&
           rest_[n] != '^')
      ++n;
    const std::string_view text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return text;
  }

  Element element() {
    Element e;
    if (rest_[0] == '`') {
      const auto end = rest_.find('`', 1);
      if (end == std::string_view::npos) bad_format(info_, "open literal");
      e.text = rest_.substr(1, end - 1);
      rest_.remove_prefix(end + 1);
      return e;
    }
    if (rest_[0] == '(') {
      rest_.remove_prefix(1);
      e.kind = Element::Kind::kOptional;
      e.anchor = ~std::size_t{0};
      e.children = sequence(&e.anchor);
      if (!rest_.starts_with(")?") || e.anchor >= e.children.size())
        bad_format(info_, "a group needs '^' and ')?'");
      rest_.remove_prefix(2);
      return e;
    }
    if (rest_[0] == '$') {
      rest_.remove_prefix(1);
      return value(word());
    }
    const std::string_view name = word();
    if (name == "type" || name == "params") {
      e.kind = name == "type" ? Element::Kind::kType : Element::Kind::kTypeParams;
      if (!rest_.starts_with("($")) bad_format(info_, "type needs ($x)");
      rest_.remove_prefix(2);
      e.slot = slot(word());
      rest_.remove_prefix(1);
      return e;
    }
    if (name == "signature")
      e.kind = Element::Kind::kSignature;
    else if (name == "region")
      e.kind = Element::Kind::kRegion;
    else if (name == "attr-dict")
      e.kind = Element::Kind::kAttrDict;
    else
      bad_format(info_, "unknown directive '" + std::string(name) + "'");
    return e;
  }

  Element value(std::string_view name) {
    Element e;
    if (const int group = info_.operand_group(name); group >= 0) {
      e.kind = Element::Kind::kOperand;
      e.slot = static_cast<std::size_t>(group);
      return e;
    }
    e.kind = Element::Kind::kAttribute;
    const auto colon = name.find(':');
    e.text = name.substr(0, colon);
    if (colon == std::string_view::npos) return e;
    const std::string_view style = name.substr(colon + 1);
    if (style == "symbol")
      e.style = Style::kSymbol;
    else if (style == "string")
      e.style = Style::kString;
    else if (style == "type")
      e.style = Style::kType;
    else if (style == "unit")
      e.style = Style::kUnit;
    else if (style == "i64_list" || style == "i32_list")
      e.style = Style::kIntList, e.number = dtype_named(style.substr(0, 3));
    else if (style[0] == '#')
      e.style = Style::kParams, e.dialect_attr = style.substr(1);
    else if ((e.number = dtype_named(style)) != DType::kNone)
      e.style = Style::kNumber;
    else if ((e.table = find_enum(style)))
      e.style = Style::kEnum;
    else
      bad_format(info_, "unknown style '" + std::string(style) + "'");
    return e;
  }

  std::size_t slot(std::string_view name) {
    if (const int group = info_.operand_group(name); group >= 0)
      return static_cast<std::size_t>(group);
    for (std::size_t i = 0; i < info_.results.size(); ++i) {
      if (info_.results[i].name == name) return info_.operands.size() + i;
    }
    bad_format(info_, "no group '" + std::string(name) + "'");
  }

  const OpInfo& info_;
  std::string_view rest_;
};

}  // namespace

std::vector<Element> compile_format(const OpInfo& info) { return Compiler(info).compile(); }

}  // namespace xpusim::kernel
