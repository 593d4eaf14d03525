#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/gpu/compiler/lowering/builder.h"
#include "models/gpu/compiler/lowering/scalars.h"
#include "models/gpu/compiler/lowering/values.h"
#include "models/gpu/compiler/warp_groups.h"

namespace xpusim::gpu {

/// A lane's address in a pair of registers, and the immediate that the instruction adds.
struct Address {
  VReg low = kNoVReg, high = kNoVReg;
  std::int64_t immediate = 0;
};

/// Computes closed-form indices and addresses in registers, each once, the way the vendor's
/// compiler does: tid shifted and masked, or-ed or added with the constant of the register; one
/// wide multiply-add a base pointer, further vectors by immediates. Where a register's constant
/// sets every bit that the mask of tid clears, the compiler drops the mask, and such a register
/// gets an address of its own (seen in softmax, layer_norm and vector_add listings).
class IndexMath {
 public:
  /// `group`: the threads' numbers begin with it; null: with the block.
  IndexMath(Builder& builder, ScalarGraph& scalars, const WarpGroup* group)
      : b_(builder), scalars_(scalars), group_(group) {}

  /// The thread's number in the group.
  VReg tid();
  /// The exclusive or of values, one for each bit of tid that is set.
  VReg thread_offset(const std::vector<std::int64_t>& of_bits);
  /// The register with some of its bits turned over.
  VReg exclusive_or(VReg reg, std::int64_t bits);
  /// The constant that a register adds to the index of its thread.
  static std::int64_t register_offset(const IndexForm& form, std::uint32_t reg);
  /// The index that a register holds; uniform ones may stay in a uniform register.
  VReg index(const IndexForm& form, std::uint32_t reg);
  /// An index as one that several registers share and the constant of its own that comes last, by
  /// an or where it changes zero bits only: or-ed constants add up like others (LLVM: "disjoint").
  std::pair<VReg, std::uint32_t> parts_of(VReg index) const;
  Address address(const IndexForm& form, ScalarId base, std::int64_t bytes, std::uint32_t reg);
  /// The sign of an index, in all bits of a register, where it is that of its uniform part: threads
  /// and registers add to bits that are zero there. kNoVReg: it is not known to be.
  VReg sign(const IndexForm& form, std::uint32_t reg);
  /// The address of an index in a register, or in two; from a pointer that moves, an addition to
  /// the index's bytes, which stay the same.
  Address address_of(const Element& index, ScalarId base, std::int64_t bytes);

  /// Whether copies of an unrolled loop's body are lowered: what does not change in the loop was
  /// added up before it, and each copy's own constant comes last, in its accesses' offsets.
  bool in_copies = false;

 private:
  struct Key {
    const kernel::LinearLayout* layout;
    std::vector<std::int64_t> factors;
    ScalarId scalar;
    std::int64_t offset;
    bool operator<(const Key& o) const {
      return std::tie(layout, factors, scalar, offset) <
             std::tie(o.layout, o.factors, o.scalar, o.offset);
    }
  };
  /// Bits of tid that move to the index by one shift.
  struct Segment {
    int shift = 0;  // left; negative: right
    std::uint32_t tid_bits = 0;
  };
  /// Bits of tid that make a number of their own, which is multiplied.
  struct Multiple {
    std::int64_t factor = 0;  // no power of two
    std::vector<Segment> segments;
  };
  struct ThreadPart {
    std::vector<Segment> segments;
    std::vector<Multiple> multiples;
    bool empty() const { return segments.empty() && multiples.empty(); }
  };

  ThreadPart thread_part(const IndexForm& form) const;
  static void add_bit(std::vector<Segment>& segments, std::size_t bit, std::int64_t value);
  /// Bits that masking tid clears and a constant may set instead; 0 if masking is no matter.
  std::uint64_t masked_off(const ThreadPart& part) const;
  /// Whether adding a register's constant to the rest of an index changes zero bits only, which is
  /// when the compiler knows that it may come last, as an immediate of the access.
  bool is_disjoint(const IndexForm& form, const ThreadPart& part, std::int64_t offset) const;
  bool covers(const IndexForm& form, const ThreadPart& part, std::int64_t offset) const;
  bool any_cover(const IndexForm& form, const ThreadPart& part) const;
  VReg shifted_tid(int shift);
  VReg masked(const Segment& segment, VReg also);
  VReg joined(const std::vector<Segment>& segments, VReg also);
  VReg thread_index(const ThreadPart& part, VReg also);
  VReg with_scalar(const IndexForm& form, const ThreadPart& part);
  std::pair<VReg, VReg> bytes_of(const Element& index, std::int64_t bytes);
  VReg compute(const IndexForm& form, std::int64_t offset);

  Builder& b_;
  ScalarGraph& scalars_;
  const WarpGroup* group_;
  VReg tid_ = kNoVReg;
  std::map<int, VReg> shifted_;
  std::map<std::vector<std::int64_t>, VReg> thread_offsets_;
  std::map<std::pair<VReg, std::int64_t>, VReg> turned_over_;
  std::map<Key, VReg> indices_;
  std::map<ScalarId, VReg> signs_;
  std::map<std::tuple<VReg, ScalarId, std::int64_t>, std::pair<VReg, VReg>> addresses_;
};

}  // namespace xpusim::gpu
