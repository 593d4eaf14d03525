#pragma once

// A phase goes over some axes of a mesh: its lines of chips, and a chip's place in its line.

#include "models/network/collectives/mesh.h"

namespace xpusim::network {

using PhaseAxes = std::vector<std::size_t>;

/// Chips of a line of the phase.
std::uint32_t size_of(const Mesh& mesh, const PhaseAxes& axes);
/// A chip's place among them, the first axis counting fastest.
std::uint32_t place_in(const Mesh& mesh, std::uint32_t chip, const PhaseAxes& axes);
/// All lines. Over several axes a line walks from neighbour to neighbour; place_in tells no place
/// on that walk.
std::vector<Group> lines_of(const Mesh& mesh, const PhaseAxes& axes);

}  // namespace xpusim::network
