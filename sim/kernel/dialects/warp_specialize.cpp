// ttg.warp_specialize: different groups of warps run different code.
//
//   ttg.warp_specialize    captures*; region 0 runs on the warps that run the op, region i+1 on
//   warps of
//                          its own: partition i, whose block has the captures as arguments and
//                          which sees no other values. "partitionNumWarps" (array<i32>) says how
//                          many. Results: what region 0 yields.
//   ttg.warp_yield         results*; ends region 0
//   ttg.warp_return        ends a partition

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/printer/printer.h"
#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {
namespace {

/// (%x, ...) [attributes {...}] default {...} partition0(%a: type, ...) num_warps(4) {...} ... :
/// (types) -> types
class WarpSpecializeGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    const Token where = p.token();
    if (!p.expect("(", "before the captured values")) return false;
    if (!p.at(")") && !p.parse_operands(op.operands)) return false;
    if (!p.expect(")", "after the captured values")) return false;
    op.segments = {static_cast<std::uint32_t>(op.operands.size())};
    if (p.accept("attributes") && !p.parse_attr_dict(op.attrs)) return false;
    if (!p.expect("default", "and the code of the warps at hand") || !p.parse_region(op))
      return false;
    std::vector<std::int64_t> warps;
    while (p.at("partition" + std::to_string(warps.size()))) {
      p.advance();
      if (!parse_partition(p, op, warps.emplace_back())) return false;
    }
    op.attrs.emplace_back(kWarps,
                          p.context().int_array(std::move(warps), p.context().scalar(DType::kI32)));
    std::vector<Type> inputs, results;
    if (!p.expect(":", "or the next partition") || !p.parse_parenthesized_types(inputs) ||
        !p.expect("->", "before the types of results") || !p.parse_result_types(results)) {
      return false;
    }
    if (inputs.size() != op.operands.size())
      return p.error(where, "needs a type for each captured value");
    for (std::size_t i = 0; i < inputs.size(); ++i)
      p.check_type(*op.operands[i], inputs[i], where, op);
    p.add_results(op, results);
    return true;
  }

  void print(Printer& p, const Op& op) const override {
    std::string& out = p.out();
    out += '(';
    p.operands(op.operands);
    out += ')';
    const std::string elided[] = {kWarps};
    p.attr_dict(op, elided, "attributes");
    p.new_line();
    out += "default ";
    p.region(*op.regions[0], false);
    const Attr warps = op.attr(kWarps);
    for (std::size_t i = 1; i < op.regions.size(); ++i) {
      p.new_line();
      out += "partition" + std::to_string(i - 1) + "(";
      const Block& block = *op.regions[i]->blocks[0];
      for (std::size_t k = 0; k < block.args.size(); ++k) {
        if (k) out += ", ";
        p.argument(*block.args[k]);
      }
      out += ") num_warps(" + std::to_string(warps->ints[i - 1]) + ") ";
      p.region(*op.regions[i], false);
    }
    out += " : ";
    p.signature(op);
  }

 private:
  static constexpr const char* kWarps = "partitionNumWarps";

  /// (%a: type, ...) num_warps(4) {...}
  static bool parse_partition(Parser& p, Op& op, std::int64_t& warps) {
    if (!p.expect("(", "before the arguments of a partition")) return false;
    std::vector<ArgumentDecl> args;
    while (!p.at(")")) {
      if (!args.empty() && !p.expect(",", "between arguments")) return false;
      if (!p.parse_argument_decl(args.emplace_back(), true)) return false;
    }
    p.advance();
    return p.expect("num_warps", "after the arguments of a partition") &&
           p.expect("(", "after 'num_warps'") && p.parse_int(warps, "a number of warps") &&
           p.expect(")", "after a number of warps") && p.parse_region(op, std::move(args), true);
  }
};

std::string verify_warp_specialize(const Op& op) {
  const Attr warps = op.attr("partitionNumWarps");
  if (op.regions.empty() || !warps || warps->int_list().size() + 1 != op.regions.size()) {
    return "needs a default region, and a number of warps for each partition";
  }
  for (std::size_t i = 0; i < op.regions.size(); ++i) {
    const Region& region = *op.regions[i];
    if (region.blocks.empty()) return "needs regions with code";
    if (i == 0) continue;
    const auto& args = region.blocks[0]->args;
    bool same = args.size() == op.operands.size();
    for (std::size_t k = 0; same && k < args.size(); ++k)
      same = args[k]->type == op.operands[k]->type;
    if (!same) return "needs partitions with the captured values as arguments";
  }
  return "";
}

}  // namespace

void define_warp_specialize(Definitions& ops) {
  Dialect d("ttg", ops);
  d.op("warp_specialize")
      .in("captures*")
      .out("results*")
      .grammar(std::make_unique<WarpSpecializeGrammar>())
      .verify(verify_warp_specialize)
      .effects(kControl | kVisible)
      .isolated(1);
  d.op("warp_yield")
      .in("results*")
      .format("($results^ )? attr-dict (`:` type($results)^ )?")
      .effects(kTerminator);
  d.op("warp_return").format("attr-dict").effects(kTerminator);
}

}  // namespace xpusim::kernel
