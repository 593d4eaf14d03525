#include "sim/exec/handlers/access.h"

#include <fmt/format.h>

#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

/// The allocation that holds all of [address, address+size), or null. Looks first where the site
/// looked last.
const Allocation* allocation_of(Frame& f, const Instruction& in, std::uint64_t address,
                                std::uint64_t size) {
  const auto& all = f.memory->allocations();
  std::uint32_t& hint = f.hints[in.site];
  const Allocation* a = hint < all.size() ? &all[hint] : nullptr;
  if (!a || address - a->address >= a->bytes) {
    a = f.memory->find(address);
    if (!a) return nullptr;
    hint = static_cast<std::uint32_t>(a - all.data());
  }
  return size <= a->bytes - (address - a->address) ? a : nullptr;
}

std::string_view verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::kLoad:
      return "reads";
    case AccessKind::kStore:
      return "writes";
    case AccessKind::kAtomic:
      return "updates";
    case AccessKind::kAsyncCopy:
      return "copies";
  }
  return "";
}

std::string_view noun(AccessKind kind) {
  switch (kind) {
    case AccessKind::kLoad:
      return "load";
    case AccessKind::kStore:
      return "store";
    case AccessKind::kAtomic:
      return "atomic";
    case AccessKind::kAsyncCopy:
      return "copy";
  }
  return "";
}

/// What a pointer was made from: the first operand of its op, or what its loop began with; or null.
const kernel::Value* moved_from(const kernel::Value& v) {
  if (v.def) return v.def->operands.empty() ? nullptr : v.def->operands[0];
  const kernel::Op* loop = v.owner && v.owner->parent ? v.owner->parent->parent : nullptr;
  if (!loop || loop->name() != "scf.for" || v.index == 0) return nullptr;
  return loop->operands[v.index + 2];
}

/// The name of the kernel argument that a pointer was made from, through the ops that move pointers
/// on.
std::string pointer_name(const kernel::Value& pointer) {
  const kernel::Value* v = &pointer;
  while (const kernel::Value* source = moved_from(*v)) v = source;
  const std::string_view named = kernel::loc_name(v->loc);
  return named.empty() ? v->name : std::string(named);
}

std::string where(const DeviceMemory& memory, std::uint64_t address, std::uint64_t size) {
  const Allocation* a = memory.nearest(address);
  if (!a) return fmt::format("address {:#x}; no tensor is in memory", address);
  const std::uint64_t end = a->address + a->bytes;
  if (address < a->address) {
    return fmt::format("{} B before the start of tensor '{}'", a->address - address, a->name);
  }
  if (address < end)
    return fmt::format("{} B across the end of tensor '{}'", address + size - end, a->name);
  return fmt::format("{} B past the end of tensor '{}'", address - end, a->name);
}

std::string coordinates(const Shape& shape, std::int64_t linear) {
  if (shape.empty()) return "";
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = linear % shape[d];
    linear /= shape[d];
  }
  return fmt::format("element [{}], ", fmt::join(index, ", "));
}

void report(Frame& f, const Instruction& in, AccessKind kind, const Tile& pointers,
            std::size_t element_size, std::uint64_t address, std::int64_t linear) {
  f.fail(in, fmt::format("{} of {} {} {} B at {} ({}address {:#x})", noun(kind),
                         pointer_name(*in.op->operands[0]), verb(kind), element_size,
                         where(*f.memory, address, element_size),
                         coordinates(pointers.shape, linear), address));
}

bool check_elements(Frame& f, const Instruction& in, AccessKind kind, const Tile& pointers,
                    const Tile* mask, std::size_t element_size, Touch& touch) {
  bool fine = true;
  touch.active = 0;
  for_active_elements(pointers, mask, [&](std::int64_t a, std::int64_t linear) {
    ++touch.active;
    const auto address = static_cast<std::uint64_t>(a);
    if (!fine || allocation_of(f, in, address, element_size)) return;
    fine = false;
    report(f, in, kind, pointers, element_size, address, linear);
  });
  return fine;
}

/// A tensor that began as unwritten may only be read where something was written.
bool check_written(Frame& f, const Instruction& in, AccessKind kind, const Tile& pointers,
                   const Tile* mask, std::size_t element_size) {
  if (kind == AccessKind::kStore) return true;
  const auto& all = f.memory->allocations();
  if (f.hints[in.site] >= all.size() || all[f.hints[in.site]].init.kind != Init::Kind::kUnwritten) {
    return true;
  }
  bool fine = true;
  for_active_elements(pointers, mask, [&](std::int64_t a, std::int64_t linear) {
    if (!fine || !f.memory->first_unwritten(static_cast<std::uint64_t>(a), element_size)) return;
    fine = false;
    f.fail(in,
           fmt::format("{} of {} {} {} B of tensor '{}' that nothing has written ({}address {:#x})",
                       noun(kind), pointer_name(*in.op->operands[0]), verb(kind), element_size,
                       all[f.hints[in.site]].name, coordinates(pointers.shape, linear), a));
  });
  return fine;
}

void record(Frame& f, const Instruction& in, AccessKind kind, const Tile& pointers,
            const Tile* mask, std::size_t element_size) {
  Access& access = f.trace.add_access(in.site);
  access.op = in.op;
  access.kind = kind;
  access.element_bytes = static_cast<std::uint32_t>(element_size);
  access.masked = mask != nullptr;
  access.pointers.shape = pointers.shape;
  access.pointers.dtype = DType::kI64;
  access.pointers.is_pointer = true;
  assign(access.pointers, pointers);
  if (!mask) return;
  access.mask.shape = mask->shape;
  access.mask.dtype = DType::kI1;
  assign(access.mask, *mask);
}

/// The part of the tile that the mask leaves, if that is a box.
bool region_of(const Tile& pointers, const Tile* mask, Box& region) {
  if (!mask || is_splat(*mask)) {
    region = whole(pointers.shape);
    return true;
  }
  region = mask->box;
  return mask->form == TileForm::kBox;
}

}  // namespace

bool check_access(Frame& f, const Instruction& in, AccessKind kind, const Tile& pointers,
                  const Tile* mask, std::size_t element_size, Touch& touch) {
  if (is_unknown(pointers) || (mask && is_unknown(*mask))) {
    f.fail(in,
           fmt::format("{} of {}: its {} depends on floating-point values that --values off does "
                       "not hold",
                       noun(kind), pointer_name(*in.op->operands[0]),
                       is_unknown(pointers) ? "address" : "mask"));
    return false;
  }
  record(f, in, kind, pointers, mask, element_size);
  touch = {};
  if (mask && is_splat(*mask) && mask->bits == 0) return true;
  if (has_affine(pointers) && region_of(pointers, mask, touch.region)) {
    Affine storage;
    bool exact = true;
    const Range r = range(affine_of(pointers, storage), touch.region, exact);
    const auto low = static_cast<std::uint64_t>(r.low), high = static_cast<std::uint64_t>(r.high);
    if (allocation_of(f, in, low, high - low + element_size)) {
      touch.whole_region = true;
      touch.active = count(touch.region);
      return check_written(f, in, kind, pointers, mask, element_size);
    }
  }
  return check_elements(f, in, kind, pointers, mask, element_size, touch) &&
         check_written(f, in, kind, pointers, mask, element_size);
}

int contiguous_dimension(const Affine& pointers, const Shape& shape, std::size_t element_size) {
  for (const Digit& d : pointers.digits) {
    if (d.stride != static_cast<std::int64_t>(element_size) || d.div != 1 || d.mod != 0) continue;
    const auto others = std::count_if(pointers.digits.begin(), pointers.digits.end(),
                                      [&](const Digit& x) { return x.dim == d.dim; });
    if (others == 1 && d.dim < shape.size()) return d.dim;
  }
  return -1;
}

}  // namespace xpusim::exec
