#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// Where a kernel's buffers lie in shared memory, and where its threads must meet between accesses
/// to them, as Triton's allocation and membar passes decide: buffers that are not alive together
/// share bytes; a barrier stands before an op that would touch what another op since the last
/// barrier has written, or write what it has read. Buffers are told apart, not their slices. Left
/// out: the scratch of single ops (reductions, layout conversions), which comes on top of the
/// buffers alive then.
class SharedPlan {
 public:
  explicit SharedPlan(const kernel::Function& function);

  /// Byte offset of the buffer of a ttg.local_alloc; of what the warps of a ttg.warp_specialize
  /// find their captured values in; of where the function's warps are told what to run.
  std::int64_t offset(const kernel::Op& alloc) const { return offsets_.at(&alloc); }
  /// Bytes up to the end of the last buffer that is alive at an op; scratch comes after them.
  std::int64_t bytes_at(const kernel::Op& op) const;
  std::int64_t bytes() const { return bytes_; }  ///< of all buffers together
  bool barrier_before(const kernel::Op& op) const { return barriers_.contains(&op); }

 private:
  using Buffers = std::set<std::uint32_t>;
  struct Buffer {
    const kernel::Op* alloc;
    std::int64_t bytes, alignment;
    std::size_t begin, end;                     // places of ops, both inside
    const kernel::Region* partition = nullptr;  // whose warps alone use it
    std::int64_t offset = 0, padded = 0;  // where it begins; where its padding before that does
  };
  struct Pending {  // touched since the last barrier
    Buffers read, written;
    void add(const Pending& other);
  };

  void number(const kernel::Region& region);
  void find_buffers(const kernel::Region& region, const kernel::Region* partition);
  void find_scratch(const kernel::Op& specialize);
  static bool are_together(const Buffer& a, const Buffer& b);
  bool follow_views(const kernel::Region& region);
  void extend_lives(const kernel::Region& region, std::size_t loop_begin, std::size_t loop_end);
  void place_buffers();
  void walk(const kernel::Block& block, Pending& pending);
  void touch(const kernel::Op& op, Pending& pending);

  std::vector<Buffer> buffers_;
  std::unordered_map<const kernel::Op*, std::size_t> place_;  // of ops, in the order of the text
  std::unordered_map<std::uint32_t, Buffers> behind_;  // by value id: the buffers it may stand for
  std::unordered_map<const kernel::Op*, std::int64_t> offsets_;
  std::unordered_set<const kernel::Op*> barriers_;
  std::int64_t bytes_ = 0;
};

}  // namespace xpusim::gpu
