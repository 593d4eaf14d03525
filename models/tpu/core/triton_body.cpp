#include "models/tpu/core/triton_body.h"

#include <array>

namespace xpusim::tpu {
namespace {

/// The grid runs z, y, x with x fastest; a program's number is x, y, z.
std::array<std::int64_t, 3> program_number(std::span<const std::int64_t> grid_index) {
  return {grid_index[2], grid_index[1], grid_index[0]};
}

}  // namespace

bool TritonBody::run(WindowSet& windows) {
  interpreter_->start(program_number(windows.grid_index()));
  while (true) {
    switch (interpreter_->advance()) {
      case exec::Interpreter::State::kDone:
        return true;
      case exec::Interpreter::State::kFailed:
        return false;
      case exec::Interpreter::State::kAtEffect:
        interpreter_->perform();
        break;
    }
  }
}

/// A block is known by its first element and the box that the mask leaves.
bool TritonWindow::block(std::span<const std::int64_t> grid_index, BlockIndex& out) {
  const AffineWindow::Place p = window_.place(program_number(grid_index));
  out.clear();
  out.push_back(p.first);
  for (std::size_t d = 0; d < p.low.size(); ++d) {
    out.push_back(p.low[d]);
    out.push_back(p.high[d]);
  }
  return true;
}

void TritonWindow::runs(const BlockIndex& block, std::vector<Run>& out) const {
  out.clear();
  const std::size_t rank = window_.shape.size();
  const bool rows = rank == 2;
  const std::int64_t row_low = rows ? block[1] : 0, row_high = rows ? block[2] : 1;
  const std::int64_t low = block[2 * rank - 1], high = block[2 * rank];
  for (std::int64_t r = row_low; r < row_high && high > low; ++r) {
    const std::int64_t at = block[0] + (rows ? r * window_.pointer.element[0] : 0) + low;
    const Run run{address_ + static_cast<std::uint64_t>(at * window_.element_bytes),
                  static_cast<std::uint64_t>((high - low) * window_.element_bytes)};
    if (!out.empty() && out.back().address + out.back().bytes == run.address) {
      out.back().bytes += run.bytes;
    } else {
      out.push_back(run);
    }
  }
}

}  // namespace xpusim::tpu
