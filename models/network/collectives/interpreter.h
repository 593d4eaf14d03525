#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/network/collectives/schedule.h"

namespace xpusim::network {

/// sum[i] += addend[i], element by element.
using AddBytes = std::function<void(std::span<std::byte> sum, std::span<const std::byte> addend)>;

/// A chip's memory as a schedule sees it.
struct ChipMemory {
  std::vector<std::byte> input, output, scratch;
};

/// Moves the data of bytes `begin` up to `end` of a transfer (whole rows' parts are fine; ends lie
/// between elements).
void move_bytes(const Transfer& transfer, std::uint64_t begin, std::uint64_t end,
                std::vector<ChipMemory>& chips, const AddBytes& add);

/// Runs a schedule on data, one transfer after another, without time. Throws nothing; a schedule
/// that needs what has not been, or reaches outside a memory, is a broken invariant.
void interpret(const Schedule& schedule, std::vector<ChipMemory>& chips, const AddBytes& add);

}  // namespace xpusim::network
