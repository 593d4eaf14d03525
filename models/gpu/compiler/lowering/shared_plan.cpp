#include "models/gpu/compiler/lowering/shared_plan.h"

#include <algorithm>

#include "models/gpu/compiler/warp_groups.h"

namespace xpusim::gpu {
namespace {

constexpr std::int64_t kSwizzleAlignment = 1024;  ///< of tiles that matrix units and TMA read
constexpr std::int64_t kAlignment = 16;

bool is_buffer(const kernel::Value& v) { return v.type->kind == kernel::TypeKind::kMemDesc; }

/// Whether an op's result is another view of its first operand.
bool is_view(const kernel::Op& op) {
  return op.name().starts_with("ttg.memdesc_") && !op.operands.empty();
}

std::int64_t bytes_of(const kernel::Type type) {
  return type->count() * std::max(8, kernel::bit_width(type->dtype)) / 8;
}

/// After such an op all threads meet.
bool meets(const kernel::Op& op) {
  return op.name() == "ttg.async_wait" || op.name() == "gpu.barrier" ||
         op.name() == "ttg.barrier" || op.name() == "ttng.async_tma_store_wait" ||
         op.name() == "ttng.tensormap_fenceproxy_acquire";
}

/// Whether an op writes the buffer of an operand: its target, or an mbarrier, which changes with
/// every arrival and every wait.
bool writes(const kernel::Op& op, std::size_t operand) {
  const std::string_view name = op.name();
  if (name == "ttng.wait_barrier") return operand == 0;
  return name == "ttg.async_copy_global_to_local" || name == "ttg.local_store" ||
         name == "ttng.async_tma_copy_global_to_local" || name == "ttng.init_barrier" ||
         name == "ttng.inval_barrier" || name == "ttng.barrier_expect" ||
         name == "ttng.arrive_barrier";
}

bool intersects(const std::set<std::uint32_t>& a, const std::set<std::uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](auto x) { return b.contains(x); });
}

}  // namespace

void SharedPlan::Pending::add(const Pending& other) {
  read.insert(other.read.begin(), other.read.end());
  written.insert(other.written.begin(), other.written.end());
}

SharedPlan::SharedPlan(const kernel::Function& function) {
  const kernel::Region& body = *function.op->regions[0];
  number(body);
  find_buffers(body, nullptr);
  if (buffers_.empty()) return;
  while (follow_views(body)) {
  }
  extend_lives(body, ~std::size_t{0}, 0);
  place_buffers();
  Pending pending;
  for (const auto& block : body.blocks) walk(*block, pending);
}

std::int64_t SharedPlan::bytes_at(const kernel::Op& op) const {
  const auto at = place_.find(&op);
  if (at == place_.end()) return bytes_;
  std::int64_t end = 0;
  for (const Buffer& b : buffers_) {
    if (b.begin <= at->second && at->second <= b.end) end = std::max(end, b.offset + b.bytes);
  }
  return end;
}

void SharedPlan::number(const kernel::Region& region) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      place_.emplace(op.get(), place_.size());
      for (const auto& inner : op->regions) number(*inner);
    }
  }
}

/// Bytes in which a ttg.warp_specialize hands a value to other warps (Triton packs them).
static std::int64_t captured_bytes(const kernel::Type type) {
  constexpr std::int64_t kPointer = 8, kOffset = 4;
  if (type->kind == kernel::TypeKind::kMemDesc) {
    return kPointer + kOffset * static_cast<std::int64_t>(type->shape.size());
  }
  if (type->kind != kernel::TypeKind::kScalar) return kPointer;
  return std::max(8, kernel::bit_width(type->dtype)) / 8;
}

/// A byte a further warp, through all of the function, and the captured values.
void SharedPlan::find_scratch(const kernel::Op& op) {
  constexpr std::int64_t kScratchAlignment = 8;
  const kernel::Op* function = op.parent->parent->parent;
  const std::size_t at = place_.at(&op);
  buffers_.push_back(
      {function, WarpGroups::further_warps(op), kScratchAlignment, 0, place_.size()});
  std::int64_t bytes = 0;
  for (const kernel::Value* v : op.operands) bytes += captured_bytes(v->type);
  if (bytes > 0) buffers_.push_back({&op, bytes, kScratchAlignment, at, at});
}

void SharedPlan::find_buffers(const kernel::Region& region, const kernel::Region* partition) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      if (op->name() == "ttg.local_alloc") {
        const kernel::Type type = op->result()->type;
        const bool swizzled =
            type->encoding && type->encoding->text.find("nvmma_shared") != std::string::npos;
        const std::size_t at = place_.at(op.get());
        behind_[op->result()->id] = {static_cast<std::uint32_t>(buffers_.size())};
        buffers_.push_back({op.get(), bytes_of(type), swizzled ? kSwizzleAlignment : kAlignment, at,
                            at, partition});
      }
      const bool specialize = op->name() == "ttg.warp_specialize";
      if (specialize) find_scratch(*op);
      for (const auto& inner : op->regions)
        find_buffers(*inner, specialize ? inner.get() : partition);
    }
  }
}

/// Carries the buffers that values stand for on to what is made of them. Whether anything changed.
bool SharedPlan::follow_views(const kernel::Region& region) {
  bool changed = false;
  auto join = [&](const kernel::Value& from, const kernel::Value& to) {
    const auto source = behind_.find(from.id);
    if (source == behind_.end() || !is_buffer(to)) return;
    const Buffers buffers = source->second;
    Buffers& target = behind_[to.id];
    const std::size_t before = target.size();
    target.insert(buffers.begin(), buffers.end());
    changed = changed || target.size() != before;
  };
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      if (is_view(*op)) join(*op->operands[0], *op->result());
      if (op->name() == "ttng.warp_group_dot_wait") {
        for (std::size_t n = 0; n < op->results.size(); ++n) {
          join(*op->operands[n], *op->result(n));
        }
      }
      if (op->name() == "scf.for") {
        const kernel::Block& body = *op->regions[0]->blocks[0];
        for (std::size_t n = 0; n + 1 < body.args.size(); ++n) {
          join(*op->operands[n + 3], *body.args[n + 1]);
          join(*op->operands[n + 3], *op->result(n));
          join(*body.ops.back()->operands[n], *body.args[n + 1]);
          join(*body.ops.back()->operands[n], *op->result(n));
        }
      }
      if (op->name() == "ttg.warp_specialize") {
        for (std::size_t r = 1; r < op->regions.size(); ++r) {
          const auto& args = op->regions[r]->blocks[0]->args;
          for (std::size_t n = 0; n < args.size(); ++n) join(*op->operands[n], *args[n]);
        }
      }
      for (const auto& inner : op->regions) changed = follow_views(*inner) || changed;
    }
  }
  return changed;
}

/// A buffer lives to its last use; one from outside a loop that uses it, through the loop.
void SharedPlan::extend_lives(const kernel::Region& region, std::size_t loop_begin,
                              std::size_t loop_end) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      const std::size_t at = place_.at(op.get());
      for (const kernel::Value* v : op->operands) {
        const auto used = behind_.find(v->id);
        if (used == behind_.end()) continue;
        for (std::uint32_t number : used->second) {
          Buffer& b = buffers_[number];
          const bool outside = loop_end != 0 && b.begin < loop_begin;
          b.end = std::max({b.end, at, outside ? loop_end : 0});
        }
      }
      if (op->regions.empty()) continue;
      const kernel::Block& last = *op->regions.back()->blocks.back();
      const std::size_t end = last.ops.empty() ? at : place_.at(last.ops.back().get());
      const bool inside = loop_end != 0 || op->name() == "ttg.warp_specialize";
      for (const auto& inner : op->regions) {
        extend_lives(*inner, inside ? loop_begin : at, inside ? loop_end : end);
      }
      for (Buffer& b : buffers_) {  // all its warps run at once
        if (op->name() == "ttg.warp_specialize" && b.begin < at && b.end > at)
          b.end = std::max(b.end, end);
      }
    }
  }
}

/// Whether two buffers hold something at a time: different partitions run at any time.
bool SharedPlan::are_together(const Buffer& a, const Buffer& b) {
  if (a.partition != b.partition && a.partition != nullptr && b.partition != nullptr) return true;
  return a.begin <= b.end && b.begin <= a.end;
}

/// The largest first, each at the lowest place that no buffer alive with it takes; what alignment
/// leaves free before it stays free, as Triton has it.
void SharedPlan::place_buffers() {
  std::vector<Buffer*> order;
  for (Buffer& b : buffers_) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(),
                   [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  std::vector<const Buffer*> placed;
  for (Buffer* b : order) {
    bool moved = true;
    while (moved) {
      moved = false;
      for (const Buffer* other : placed) {
        const bool overlaps =
            b->offset < other->offset + other->bytes && other->padded < b->offset + b->bytes;
        if (!overlaps || !are_together(*b, *other)) continue;
        const std::int64_t end = b->padded = other->offset + other->bytes;
        b->offset = (end + b->alignment - 1) / b->alignment * b->alignment;
        moved = true;
      }
    }
    placed.push_back(b);
    bytes_ = std::max(bytes_, b->offset + b->bytes);
    offsets_[b->alloc] = b->offset;
  }
}

void SharedPlan::walk(const kernel::Block& block, Pending& pending) {
  for (const auto& op : block.ops) {
    if (meets(*op)) {
      pending = {};
      continue;
    }
    if (op->name() == "ttg.warp_specialize") {  // all warps meet before and after
      for (const auto& inner : op->regions) {
        pending = {};
        for (const auto& b : inner->blocks) walk(*b, pending);
      }
      pending = {};
      continue;
    }
    touch(*op, pending);
    if (op->regions.empty() || op->name() == "tt.reduce" || op->name() == "tt.scan") continue;
    Pending after = pending;
    const int rounds = op->name() == "scf.if" ? 1 : 2;  // a loop's end comes before its begin too
    for (int round = 0; round < rounds; ++round) {
      for (const auto& inner : op->regions) {
        Pending inside = op->name() == "scf.if" ? pending : after;
        for (const auto& b : inner->blocks) walk(*b, inside);
        after.add(inside);
      }
    }
    pending = after;
  }
}

void SharedPlan::touch(const kernel::Op& op, Pending& pending) {
  if (is_view(op) || op.name() == "ttg.local_dealloc" || op.name() == "ttng.warp_group_dot_wait" ||
      op.name().starts_with("scf.")) {
    return;
  }
  Buffers read, written;
  for (std::size_t n = 0; n < op.operands.size(); ++n) {
    const auto known = behind_.find(op.operands[n]->id);
    if (known == behind_.end()) continue;
    (writes(op, n) ? written : read).insert(known->second.begin(), known->second.end());
  }
  if (op.name() == "ttg.local_alloc" && !op.operands.empty()) written = behind_[op.result()->id];
  // What shares bytes with a buffer of another time is that buffer.
  auto with_overlaps = [&](Buffers set) {
    for (std::uint32_t n : Buffers(set)) {
      for (std::uint32_t m = 0; m < buffers_.size(); ++m) {
        const Buffer &a = buffers_[n], &b = buffers_[m];
        if (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes) set.insert(m);
      }
    }
    return set;
  };
  read = with_overlaps(std::move(read));
  written = with_overlaps(std::move(written));
  const bool hazard = intersects(read, pending.written) || intersects(written, pending.written) ||
                      intersects(written, pending.read);
  if (hazard) {
    barriers_.insert(&op);
    pending = {};
  }
  pending.read.insert(read.begin(), read.end());
  pending.written.insert(written.begin(), written.end());
}

}  // namespace xpusim::gpu
