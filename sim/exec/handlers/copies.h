#pragma once

// The payload of a DMA: the elements of a view, wherever they lie.

#include <cstddef>
#include <vector>

#include "sim/exec/frame.h"

namespace xpusim::exec {

/// Whether the elements of a view are held at all (with --values off, floats are not).
bool holds_payload(const Frame& f, const View& view);
/// The elements of a view side by side, in row-major order, and back.
std::vector<std::byte> read_view(const Frame& f, const View& view);
void write_view(const Frame& f, const View& view, const std::vector<std::byte>& bytes);

}  // namespace xpusim::exec
