#pragma once

// Changing the IR of a function: making, cloning, replacing and erasing ops. Values do not know
// their users, so these walk the function; kernels have some hundreds of ops.

#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/kernel/op_info.h"

namespace xpusim::gpu::passes {

using kernel::Attr;
using kernel::Block;
using kernel::Context;
using kernel::Op;
using kernel::Region;
using kernel::Type;
using kernel::Value;

using Attrs = std::vector<std::pair<std::string, Attr>>;
using ValueMap = std::unordered_map<const Value*, Value*>;
using Users = std::unordered_map<const Value*, std::vector<Op*>>;

/// A place between two ops of a block.
struct Place {
  Block* block = nullptr;
  std::size_t index = 0;  ///< of the op that follows
};
Place before(const Op& op);
Place after(const Op& op);
Place start_of(Block& block);
Place end_of(Block& block);  ///< before the terminator
/// Right behind what defines a value: its op, or the head of its block.
Place after(const Value& value);

/// Makes ops one behind the other at a place. New ops take their location and the names of their
/// results from a model: the op on whose behalf they are made.
class Builder {
 public:
  Builder(Context& context, Place place, const Op& model)
      : context_(&context), place_(place), model_(&model) {}

  Op& op(std::string_view name, std::vector<Value*> operands, const std::vector<Type>& results,
         Attrs attrs = {}, std::vector<std::uint32_t> segments = {});
  Value* make(std::string_view name, std::vector<Value*> operands, Type result, Attrs attrs = {},
              std::vector<std::uint32_t> segments = {}) {
    return op(name, std::move(operands), {result}, std::move(attrs), std::move(segments)).result();
  }
  Op& insert(std::unique_ptr<Op> op);
  Value* integer(std::int64_t value, Type type);  ///< arith.constant
  Value* convert(Value* value, Attr encoding);    ///< to a layout; the value itself if it has it

  Context& context() { return *context_; }
  const Op& model() const { return *model_; }
  void follow(const Op& model) { model_ = &model; }
  const Place& place() const { return place_; }

 private:
  Context* context_;
  Place place_;
  const Op* model_;
};

/// A value's type with another layout.
Type with_encoding(Context& context, Type type, Attr encoding);
bool is_tensor(const Value& value);
bool is_tensor(Type type);

/// A copy with its regions; operands are replaced as `map` says, and new values are added to it.
std::unique_ptr<Op> clone(const Op& op, ValueMap& map);

/// Visits an op and all within it; parents first.
void walk(Op& op, const std::function<void(Op&)>& visit);
/// All ops of that name within an op, in textual order.
std::vector<Op*> ops_named(Op& root, std::string_view name);

Users users_of(Op& root);
/// Replaces a value everywhere within `root` but in `except`.
void replace(Op& root, const Value& from, Value& to, const Op* except = nullptr);
/// Takes an op out of its block.
std::unique_ptr<Op> detach(Op& op);
/// Whether an op may be left out where nobody uses its results, computed twice, or moved.
bool is_free_of_effects(const Op& op);

}  // namespace xpusim::gpu::passes
