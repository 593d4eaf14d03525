// tt.load and tt.store.

#include "sim/exec/handlers/access.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

constexpr std::size_t kMask = 1, kOther = 2;       // operands of tt.load
constexpr std::size_t kValue = 1, kStoreMask = 2;  // operands of tt.store

const Tile* optional_operand(Frame& f, const Instruction& in, std::size_t k) {
  return f.has(in, k) ? &f.operand(in, k) : nullptr;
}

/// Gives the elements that the mask leaves out their value: `other`, or zero where the language
/// leaves it open.
void fill_masked(Tile& out, const Tile* other) {
  const auto count = static_cast<std::size_t>(out.count());
  std::byte* to = dense_storage(out);
  if (!other || is_unknown(*other)) {
    std::memset(to, 0, count * element_bytes(out));
  } else {
    read_elements(*other, 0, out.count(), to);
  }
}

void load_region(Frame& f, const Tile& pointers, const Touch& touch, Tile& out) {
  const std::size_t size = element_bytes(out);
  std::byte* to = out.data->data();
  const auto rank = static_cast<int>(out.shape.size());
  const int along = contiguous_dimension(pointers.affine, out.shape, size);
  if (along == rank - 1) {
    for_contiguous_runs(pointers.affine, out.shape, touch.region, along,
                        [&](std::int64_t address, std::int64_t linear, std::int64_t n) {
                          f.memory->read(static_cast<std::uint64_t>(address),
                                         {to + static_cast<std::size_t>(linear) * size,
                                          static_cast<std::size_t>(n) * size});
                        });
    return;
  }
  if (along < 0) {
    Tile box;
    box.shape = out.shape;
    box.dtype = DType::kI1;
    box.form = TileForm::kBox;
    box.box = touch.region;
    for_active_elements(pointers, &box, [&](std::int64_t address, std::int64_t linear) {
      f.memory->read(static_cast<std::uint64_t>(address),
                     {to + static_cast<std::size_t>(linear) * size, size});
    });
    return;
  }
  std::int64_t step = 1;
  for (int d = along + 1; d < rank; ++d) step *= out.shape[static_cast<std::size_t>(d)];
  std::vector<std::byte> run;
  for_contiguous_runs(pointers.affine, out.shape, touch.region, along,
                      [&](std::int64_t address, std::int64_t linear, std::int64_t n) {
                        run.resize(static_cast<std::size_t>(n) * size);
                        f.memory->read(static_cast<std::uint64_t>(address), run);
                        spread_elements(run.data(), n, size,
                                        to + static_cast<std::size_t>(linear) * size, step);
                      });
}

/// All elements come from one address.
void load_one(Frame& f, std::int64_t address, Tile& out) {
  std::uint64_t bits = 0;
  f.memory->read(static_cast<std::uint64_t>(address),
                 {reinterpret_cast<std::byte*>(&bits), element_bytes(out)});
  set_bits(out, bits);
}

}  // namespace

void fetch(Frame& f, const Tile& pointers, const Tile* mask, const Tile* other, const Touch& touch,
           Tile& out) {
  if (touch.active == 0) {
    if (other) {
      assign(out, *other);
    } else {
      set_bits(out, 0);
    }
    return;
  }
  const std::size_t size = element_bytes(out);
  const bool all = touch.active == out.count();
  if (is_splat(pointers) && all) {
    load_one(f, pointers.bits, out);
    return;
  }
  if (all) {
    dense_storage(out);
  } else {
    fill_masked(out, other);
  }
  if (touch.whole_region && pointers.form == TileForm::kAffine) {
    load_region(f, pointers, touch, out);
  } else {
    std::byte* to = out.data->data();
    for_active_elements(pointers, mask, [&](std::int64_t address, std::int64_t linear) {
      f.memory->read(static_cast<std::uint64_t>(address),
                     {to + static_cast<std::size_t>(linear) * size, size});
    });
  }
}

namespace {

Step load(Frame& f, const Instruction& in) {
  const Tile& pointers = f.operand(in, 0);
  const Tile* mask = optional_operand(f, in, kMask);
  Tile& out = f.result(in);
  const std::size_t size = element_bytes(out);
  Touch touch;
  if (!check_access(f, in, AccessKind::kLoad, pointers, mask, size, touch)) return Step::kFail;
  f.live[in.result] = touch.active;
  f.counts.load(f.hints[in.site], static_cast<std::uint64_t>(touch.active) * size);
  if (in.visible) return Step::kEffect;
  if (f.wants(in)) {
    fetch(f, pointers, mask, optional_operand(f, in, kOther), touch, out);
  } else {
    out.form = TileForm::kUnknown;
  }
  return Step::kNext;
}

/// A volatile load reads what others may write meanwhile: it does so when its time has come.
Step perform_load(Frame& f, const Instruction& in) {
  Touch touch;
  touch.active = f.live[in.result];
  if (f.wants(in)) {
    fetch(f, f.operand(in, 0), optional_operand(f, in, kMask), optional_operand(f, in, kOther),
          touch, f.result(in));
  } else {
    f.result(in).form = TileForm::kUnknown;
  }
  return Step::kNext;
}

std::string_view prepare_load(const kernel::Op& op, Instruction& in) {
  if (op.int_attr("isVolatile") == 0) in.perform = nullptr;
  return "";
}

void store_region(Frame& f, const Tile& pointers, const Touch& touch, const Tile& value,
                  std::size_t size) {
  const int along = contiguous_dimension(pointers.affine, value.shape, size);
  const bool direct =
      value.form == TileForm::kDense && along + 1 == static_cast<int>(value.shape.size());
  std::int64_t step = 1;
  for (std::size_t d = static_cast<std::size_t>(along) + 1; d < value.shape.size(); ++d) {
    step *= value.shape[d];
  }
  std::vector<std::byte> run;
  for_contiguous_runs(pointers.affine, value.shape, touch.region, along,
                      [&](std::int64_t address, std::int64_t linear, std::int64_t n) {
                        const std::size_t bytes = static_cast<std::size_t>(n) * size;
                        const std::byte* from;
                        if (direct) {
                          from = value.data->data() + static_cast<std::size_t>(linear) * size;
                        } else {
                          run.resize(bytes);
                          read_elements(value, linear, n, run.data(), step);
                          from = run.data();
                        }
                        f.memory->write(static_cast<std::uint64_t>(address), {from, bytes});
                      });
}

Step store(Frame& f, const Instruction& in) {
  const Tile& pointers = f.operand(in, 0);
  const Tile& value = f.operand(in, kValue);
  const Tile* mask = optional_operand(f, in, kStoreMask);
  const std::size_t size = element_bytes(value);
  Touch touch;
  if (!check_access(f, in, AccessKind::kStore, pointers, mask, size, touch)) return Step::kFail;
  f.counts.store(f.hints[in.site], static_cast<std::uint64_t>(touch.active) * size);
  if (!is_unknown(value)) put(f, pointers, mask, touch, value);
  return Step::kNext;
}

}  // namespace

void put(Frame& f, const Tile& pointers, const Tile* mask, const Touch& touch, const Tile& value) {
  if (touch.active == 0) return;
  const std::size_t size = element_bytes(value);
  if (touch.whole_region && pointers.form == TileForm::kAffine &&
      contiguous_dimension(pointers.affine, value.shape, size) >= 0) {
    return store_region(f, pointers, touch, value, size);
  }
  std::byte element[8];
  for_active_elements(pointers, mask, [&](std::int64_t address, std::int64_t linear) {
    read_elements(value, linear, 1, element);
    f.memory->write(static_cast<std::uint64_t>(address), {element, size});
  });
}

void add_memory(OpTable& table) {
  table.add({.name = "tt.load",
             .run = load,
             .pure = false,
             .perform = perform_load,
             .prepare = prepare_load,
             .leaves_record = true});
  table.add({.name = "tt.store", .run = store, .pure = false, .leaves_record = true});
}

}  // namespace xpusim::exec
