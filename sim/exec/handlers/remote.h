#pragma once

// What passes between the devices that run a program together.

#include <optional>
#include <string_view>

#include "sim/exec/frame.h"

namespace xpusim::exec {

/// The device that an op's operands name; its own where it names none. None: it is no device, or
/// another core than the first (the frame's error says so).
std::optional<std::uint32_t> device_of(Frame& f, const Instruction& in, std::size_t device_operand,
                                       std::size_t core_operand, std::string_view what);

/// What another device has sent is here: its data in this device's memory, its amount on the
/// semaphore.
void receive(Frame& f, const Outgoing& what);

}  // namespace xpusim::exec
