#include "sim/kernel/grammar/enums.h"
#include "sim/kernel/grammar/format_element.h"
#include "sim/kernel/printer/printer.h"

namespace xpusim::kernel {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Where MLIR prints a space: before every element, but not around most punctuation.
class Spacing {
 public:
  explicit Spacing(std::string& out) : out_(out) {}

  void literal(std::string_view text) {
    if (text.empty()) {
      wanted_ = false;
      after_punctuation_ = true;
      return;
    }
    const std::string_view tight = after_punctuation_ ? ">)}]," : "<>(){}[],";
    const bool single = text.size() == 1;
    if (wanted_ && (!single || tight.find(text[0]) == std::string_view::npos)) out_ += ' ';
    out_ += text;
    wanted_ = !single || std::string_view("<({[").find(text[0]) == std::string_view::npos;
    after_punctuation_ = !is_letter(text[0]);
  }
  void value() {
    if (wanted_ || !after_punctuation_) out_ += ' ';
    wanted_ = true;
    after_punctuation_ = false;
  }
  void attr_dict() { after_punctuation_ = false; }

 private:
  std::string& out_;
  bool wanted_ = true;
  bool after_punctuation_ = false;
};

/// One op being printed.
struct Printing {
  Printer& printer;
  const Op& op;
  const std::vector<std::string>& named;
  Spacing spacing;
  std::size_t region = 0;
};

void print_attribute(Printing& p, const Element& e) {
  const Attr attr = p.op.attr(e.text);
  if (!attr || e.style == Style::kUnit) return;
  std::string& out = p.printer.out();
  p.spacing.value();
  if (e.style == Style::kParams) {
    out += '<';
    out += attr->body;
    out += '>';
  } else if (e.style == Style::kEnum) {
    for (const EnumCase& c : e.table->cases) {
      if (c.value == attr->integer) out += c.keyword;
    }
  } else if (e.style == Style::kNumber) {
    out += std::to_string(attr->integer);
  } else if (e.style == Style::kIntList) {
    out += '[';
    for (std::size_t i = 0; i < attr->ints.size(); ++i) {
      if (i) out += ", ";
      out += std::to_string(attr->ints[i]);
    }
    out += ']';
  } else {
    p.printer.attr(attr);
  }
}

void print_types(Printing& p, const Element& e) {
  p.spacing.value();
  std::vector<Type> types;
  const std::size_t groups = p.op.info->operands.size();
  if (e.slot < groups) {
    for (const Value* v : p.op.group(e.slot)) types.push_back(v->type);
  } else {
    const std::size_t first = e.slot - groups;
    const bool single = p.op.info->results[first].arity == Arity::kOne;
    const std::size_t end = single ? first + 1 : p.op.results.size();
    for (std::size_t i = first; i < end; ++i) types.push_back(p.op.results[i]->type);
  }
  if (e.kind == Element::Kind::kTypeParams) {
    p.printer.type_params(types[0]);
  } else {
    p.printer.types(types);
  }
}

bool is_present(const Op& op, const Element& e) {
  if (e.kind == Element::Kind::kAttribute) return op.attr(e.text) != nullptr;
  return e.slot < op.info->operands.size() ? !op.group(e.slot).empty() : !op.results.empty();
}

void print_elements(Printing& p, const std::vector<Element>& elements) {
  for (const Element& e : elements) {
    switch (e.kind) {
      case Element::Kind::kLiteral:
        p.spacing.literal(e.text);
        break;
      case Element::Kind::kOperand:
        if (p.op.group(e.slot).empty()) break;
        p.spacing.value();
        p.printer.operands(p.op.group(e.slot));
        break;
      case Element::Kind::kAttribute:
        print_attribute(p, e);
        break;
      case Element::Kind::kType:
      case Element::Kind::kTypeParams:
        print_types(p, e);
        break;
      case Element::Kind::kSignature:
        p.spacing.value();
        p.printer.signature(p.op);
        break;
      case Element::Kind::kRegion:
        p.spacing.value();
        p.printer.region(*p.op.regions[p.region++], true);
        break;
      case Element::Kind::kAttrDict:
        p.printer.attr_dict(p.op, p.named);
        p.spacing.attr_dict();
        break;
      case Element::Kind::kOptional:
        if (is_present(p.op, e.children[e.anchor])) print_elements(p, e.children);
        break;
    }
  }
}

}  // namespace

void print_format(Printer& printer, const Op& op, const std::vector<Element>& elements,
                  const std::vector<std::string>& named) {
  Printing p{printer, op, named, Spacing(printer.out()), 0};
  print_elements(p, elements);
}

}  // namespace xpusim::kernel
