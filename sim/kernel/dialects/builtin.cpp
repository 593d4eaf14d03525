// builtin: the module that holds the functions.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/printer/printer.h"
#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {
namespace {

/// module [@name] [attributes {...}] { functions }
class ModuleGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    if (p.at(TokenKind::kAt)) {
      std::string symbol;
      if (!p.parse_symbol(symbol)) return false;
      op.attrs.emplace_back("sym_name", p.context().string(std::move(symbol)));
    }
    if (p.accept("attributes") && !p.parse_attr_dict(op.attrs)) return false;
    return p.parse_region(op, {}, true);
  }
  void print(Printer& p, const Op& op) const override {
    if (const auto symbol = op.str_attr("sym_name"); !symbol.empty()) {
      p.out() += ' ';
      spell_symbol(p.out(), symbol);
    }
    const std::string elided[] = {"sym_name"};
    p.attr_dict(op, elided, "attributes");
    p.out() += ' ';
    p.region(*op.regions[0], true);
  }
};

std::string verify_module(const Op& op) {
  if (op.regions.size() != 1) return "needs one region";
  return op.regions[0]->blocks.size() > 1 ? "needs a region of one block" : "";
}

}  // namespace

void define_builtin(Definitions& ops) {
  Dialect d("builtin", ops);
  d.op("module")
      .spelled("module")
      .grammar(std::make_unique<ModuleGrammar>())
      .verify(verify_module)
      .isolated();
  d.op("unrealized_conversion_cast")
      .in("inputs*")
      .out("outputs*")
      .format("($inputs^ `:` type($inputs) )? `to` type($outputs) attr-dict");
}

}  // namespace xpusim::kernel
