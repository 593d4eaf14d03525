#include <algorithm>

#include "models/gpu/compiler/passes/kernel_form.h"

namespace xpusim::gpu::passes {
namespace {

/// Ops that these passes have no layouts for.
bool is_unplaced(std::string_view name) {
  static constexpr std::string_view kUnplaced[] = {"tt.cat",
                                                   "tt.dot_scaled",
                                                   "tt.make_tensor_ptr",
                                                   "tt.advance",
                                                   "tt.descriptor_load",
                                                   "tt.descriptor_store",
                                                   "tt.descriptor_reduce",
                                                   "tt.descriptor_gather",
                                                   "tt.descriptor_scatter",
                                                   "tt.make_tensor_descriptor"};
  return std::find(std::begin(kUnplaced), std::end(kUnplaced), name) != std::end(kUnplaced);
}

class PlainLayouts {
 public:
  explicit PlainLayouts(Kernel& kernel) : kernel_(kernel), context_(kernel.context) {}

  void run() {
    std::vector<Op*> ops;
    walk(kernel_.function, [&](Op& op) { ops.push_back(&op); });
    for (Op* op : ops) {
      if (is_unplaced(op->name())) kernel_.refuse(*op, "has no layouts yet");
      for (auto& result : op->results) assign(*result);
      for (auto& region : op->regions) {
        for (auto& block : region->blocks) {
          for (auto& arg : block->args) assign(*arg);
        }
      }
    }
    for (Op* op : ops) tie(*op);
    retype_function();
  }

 private:
  Attr plain(const Value& value) const {
    return plain_layout(context_, value.type->shape, kernel_.target.num_warps);
  }

  void assign(Value& value) {
    if (is_tensor(value) && !value.type->encoding) set_encoding(context_, value, plain(value));
  }

  void retype_function() {
    const Attr old = kernel_.function.attr("function_type");
    if (!old || !old->type) return;
    std::vector<Type> inputs, results;
    for (const Type t : old->type->inputs) inputs.push_back(placed(t));
    for (const Type t : old->type->results) results.push_back(placed(t));
    for (auto& [key, value] : kernel_.function.attrs) {
      if (key == "function_type")
        value = context_.type_attr(context_.function(std::move(inputs), std::move(results)));
    }
  }
  Type placed(Type type) const {
    if (!is_tensor(type) || type->encoding) return type;
    return with_encoding(context_, type,
                         plain_layout(context_, type->shape, kernel_.target.num_warps));
  }

  void convert_operand(Op& op, std::size_t i, Attr encoding) {
    Builder builder(context_, before(op), op);
    op.operands[i] = builder.convert(op.operands[i], encoding);
  }

  /// Gives a result the layout that the op's own rule says, and its users the plain one.
  void tie_result(Op& op, Value& result, Attr encoding) {
    if (!is_tensor(result) || result.type->encoding == encoding) return;
    const Attr wanted = result.type->encoding;
    set_encoding(context_, result, encoding);
    Builder builder(context_, after(op), op);
    Value* plain = builder.convert(&result, wanted);
    replace(kernel_.function, result, *plain, plain->def);
  }

  void tie(Op& op) {
    const std::string_view name = op.name();
    if (name == "tt.expand_dims" || name == "tt.broadcast") {
      convert_operand(op, 0, operand_encoding(context_, op, op.result()->type->encoding));
    } else if (name == "tt.split") {
      convert_operand(op, 0, operand_encoding(context_, op, op.result()->type->encoding));
    } else if (name == "tt.reduce" || name == "tt.trans" || name == "tt.reshape" ||
               name == "tt.join") {
      const Attr from = op.operands[0]->type->encoding;
      for (auto& result : op.results) tie_result(op, *result, result_encoding(context_, op, from));
    } else if (name == "tt.dot") {
      tie_dot(op);
    }
  }

  /// Products by multiply-adds: a thread holds a square of the result and all of k.
  void tie_dot(Op& op) {
    Value& result = *op.result();
    const Shape& tile = result.type->shape;
    const std::int64_t share = result.type->count() / (kernel_.target.num_warps * kThreadsPerWarp);
    const std::int64_t side = share >= 16 ? 4 : share >= 4 ? 2 : 1;
    Shape per_thread(tile.size(), 1);
    for (std::size_t d = tile.size() - 2; d < tile.size(); ++d) per_thread[d] = side;
    const Attr encoding = encoding_of(
        context_, spread(tile, per_thread, row_major(tile.size()), kernel_.target.num_warps));
    convert_operand(op, 0, dot_operand(context_, 0, encoding, 0));
    convert_operand(op, 1, dot_operand(context_, 1, encoding, 0));
    convert_operand(op, 2, encoding);
    tie_result(op, result, encoding);
  }

  Kernel& kernel_;
  Context& context_;
};

}  // namespace

void Kernel::refuse(const Op& op, const std::string& why) {
  problems.error(op.line(), std::string(op.name()) + " " + why);
}

void set_encoding(Context& context, Value& value, Attr encoding) {
  value.type = with_encoding(context, value.type, encoding);
  if (!value.def || value.def->name() != "arith.constant") return;
  for (auto& [key, attr] : value.def->attrs) {
    if (key != "value") continue;
    kernel::AttrData data = *attr;
    data.text.clear();
    data.type = value.type;
    attr = context.attr(std::move(data));
  }
}

void assign_plain_layouts(Kernel& kernel) { PlainLayouts(kernel).run(); }

}  // namespace xpusim::gpu::passes
