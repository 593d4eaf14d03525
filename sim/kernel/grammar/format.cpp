#include "sim/kernel/grammar/format.h"

#include "sim/kernel/grammar/format_element.h"

namespace xpusim::kernel {
namespace {

class FormatGrammar : public OpGrammar {
 public:
  explicit FormatGrammar(const OpInfo& info) : elements_(compile_format(info)) {
    collect_names(elements_);
  }

  bool parse(Parser& parser, Op& op) const override { return read_format(parser, op, elements_); }
  void print(Printer& printer, const Op& op) const override {
    print_format(printer, op, elements_, named_);
  }

 private:
  void collect_names(const std::vector<Element>& elements) {
    for (const Element& e : elements) {
      if (e.kind == Element::Kind::kAttribute) named_.push_back(e.text);
      collect_names(e.children);
    }
  }

  std::vector<Element> elements_;
  std::vector<std::string> named_;  ///< attributes that stand outside of the attr-dict
};

}  // namespace

std::unique_ptr<OpGrammar> make_format_grammar(const OpInfo& info) {
  return std::make_unique<FormatGrammar>(info);
}

}  // namespace xpusim::kernel
