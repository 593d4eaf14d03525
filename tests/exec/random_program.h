#pragma once

// Random valid programs over integer tiles, for differential tests: the same program with compact
// tiles (ranges are affine) and with dense ones (the same ranges come from memory).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace xpusim::exec {

/// A kernel with parameters %iota, %x, %out (pointers to i32; iota holds 0, 1, ...) and %n (i32),
/// as TTIR. Equal bytes give equal programs; `dense` only says where ranges come from.
std::string random_program(std::span<const std::uint8_t> bytes, bool dense);

/// Runs the program in its compact and dense forms and without values; "" if all write the same, or
/// stop at the same op; else what differs.
std::string difference_of_forms(std::span<const std::uint8_t> bytes);

}  // namespace xpusim::exec
