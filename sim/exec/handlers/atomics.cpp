// tt.atomic_rmw and tt.atomic_cas.

#include "sim/exec/handlers/atomics.h"

#include "sim/exec/handlers/access.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_algebra.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

std::string_view prepare_rmw(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("atomic_rmw_op");
  return in.immediate >= 1 && in.immediate <= 10 ? "" : "no such read-modify-write operation";
}

IntOp integer_of(Rmw op) {
  switch (op) {
    case Rmw::kAnd:
      return IntOp::kAnd;
    case Rmw::kOr:
      return IntOp::kOr;
    case Rmw::kXor:
      return IntOp::kXor;
    case Rmw::kMax:
      return IntOp::kMaxS;
    case Rmw::kMin:
      return IntOp::kMinS;
    case Rmw::kMaxUnsigned:
      return IntOp::kMaxU;
    case Rmw::kMinUnsigned:
      return IntOp::kMinU;
    default:
      return IntOp::kAdd;
  }
}

/// max and min of floats are written as integer ones too; the dtype tells.
std::uint64_t combine(Rmw op, DType d, std::uint64_t old, std::uint64_t value) {
  if (op == Rmw::kExchange) return value;
  if (kernel::is_float(d)) {
    const double a = decode(d, old), b = decode(d, value);
    if (op == Rmw::kMax) return encode(d, a > b ? a : b);
    if (op == Rmw::kMin) return encode(d, a < b ? a : b);
    return encode(d, a + b);
  }
  const std::uint64_t limit = zero_extend(d, static_cast<std::int64_t>(value));
  if (op == Rmw::kIncrement) return old >= limit ? 0 : old + 1;
  if (op == Rmw::kDecrement) return old == 0 || old > limit ? limit : old - 1;
  return static_cast<std::uint64_t>(integer_scalar(integer_of(op), d,
                                                   wrap(d, static_cast<std::int64_t>(old)),
                                                   wrap(d, static_cast<std::int64_t>(value))));
}

/// Calls update(old, index) for one element after another, in index order; `out` (may be null)
/// takes the old values.
template <class F>
void update_elements(Frame& f, const Tile& pointers, const Tile* mask, std::size_t size, Tile* out,
                     F update) {
  const bool scalar = out && out->shape.empty();
  std::byte* old_values = !out || scalar ? nullptr : dense_storage(*out);
  if (scalar) set_bits(*out, 0);
  for_active_elements(pointers, mask, [&](std::int64_t a, std::int64_t linear) {
    const auto address = static_cast<std::uint64_t>(a);
    std::uint64_t old = 0;
    f.memory->read(address, {reinterpret_cast<std::byte*>(&old), size});
    const std::uint64_t next = update(old, linear);
    if (next != old) f.memory->write(address, {reinterpret_cast<const std::byte*>(&next), size});
    if (scalar) {
      set_bits(*out, old);
    } else if (old_values) {
      std::memcpy(old_values + static_cast<std::size_t>(linear) * size, &old, size);
    }
  });
}

const Tile* rmw_mask(Frame& f, const Instruction& in) {
  return f.has(in, 2) ? &f.operand(in, 2) : nullptr;
}

std::uint64_t low_bits(std::uint64_t bits, std::size_t size) {
  return size >= 8 ? bits : bits & ((std::uint64_t{1} << (8 * size)) - 1);
}

Step perform_rmw(Frame& f, const Instruction& in) {
  const Tile& value = f.operand(in, 1);
  Tile& out = f.result(in);
  if (is_unknown(value)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  read_modify_write(f, static_cast<Rmw>(in.immediate), f.operand(in, 0), rmw_mask(f, in), value,
                    &out);
  return Step::kNext;
}

Step perform_cas(Frame& f, const Instruction& in) {
  const Tile& expected = f.operand(in, 1);
  const Tile& value = f.operand(in, 2);
  Tile& out = f.result(in);
  if (is_unknown(expected) || is_unknown(value)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  const std::size_t size = element_bytes(out);
  update_elements(f, f.operand(in, 0), nullptr, size, &out,
                  [&](std::uint64_t old, std::int64_t linear) {
                    return old == low_bits(element_bits(expected, linear), size)
                               ? low_bits(element_bits(value, linear), size)
                               : old;
                  });
  return Step::kNext;
}

Step atomic(Frame& f, const Instruction& in, const Tile* mask) {
  const std::size_t size = element_bytes(f.result(in));
  Touch touch;
  if (!check_access(f, in, AccessKind::kAtomic, f.operand(in, 0), mask, size, touch))
    return Step::kFail;
  const auto bytes = static_cast<std::uint64_t>(touch.active) * size;
  f.counts.load(f.hints[in.site], bytes);
  f.counts.store(f.hints[in.site], bytes);
  const bool adds = !f.operand(in, 1).is_pointer && kernel::is_float(f.operand(in, 1).dtype);
  if (adds) f.counts.flops += static_cast<std::uint64_t>(touch.active);
  return in.visible ? Step::kEffect : in.perform(f, in);
}

Step rmw(Frame& f, const Instruction& in) { return atomic(f, in, rmw_mask(f, in)); }
Step cas(Frame& f, const Instruction& in) { return atomic(f, in, nullptr); }

}  // namespace

void read_modify_write(Frame& f, Rmw op, const Tile& pointers, const Tile* mask, const Tile& value,
                       Tile* old) {
  const std::size_t size = element_bytes(value);
  update_elements(f, pointers, mask, size, old, [&](std::uint64_t before, std::int64_t linear) {
    return low_bits(combine(op, value.dtype, before, element_bits(value, linear)), size);
  });
}

void add_atomics(OpTable& table) {
  table.add({.name = "tt.atomic_rmw",
             .run = rmw,
             .pure = false,
             .perform = perform_rmw,
             .prepare = prepare_rmw,
             .leaves_record = true});
  table.add({.name = "tt.atomic_cas",
             .run = cas,
             .pure = false,
             .perform = perform_cas,
             .leaves_record = true});
}

}  // namespace xpusim::exec
