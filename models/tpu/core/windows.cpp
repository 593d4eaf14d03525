#include "models/tpu/core/windows.h"

#include <algorithm>
#include <map>
#include <utility>

namespace xpusim::tpu {

WindowSet::WindowSet(std::vector<WindowSpec> windows, std::vector<std::int64_t> grid)
    : grid_(std::move(grid)) {
  for (std::int64_t extent : grid_) steps_ *= static_cast<std::uint64_t>(extent);
  grid_at(0, index_);
  for (WindowSpec& spec : windows) {
    Window w;
    w.copies.resize(spec.copies);
    for (Copy& c : w.copies) c.payload.resize(spec.payload_bytes);
    w.spec = std::move(spec);
    windows_.push_back(std::move(w));
  }
}

void WindowSet::grid_at(std::uint64_t step, std::vector<std::int64_t>& out) const {
  out.assign(grid_.size(), 0);
  for (std::size_t d = grid_.size(); d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(grid_[d]);
    if (extent == 0) return;
    out[d] = static_cast<std::int64_t>(step % extent);
    step /= extent;
  }
}

bool WindowSet::block_at(Window& w, std::uint64_t step, BlockIndex& out) {
  grid_at(step, scratch_);
  if (w.spec.map->block(scratch_, out)) return true;
  if (error_.empty()) error_ = w.spec.name + ": " + w.spec.map->error();
  return false;
}

Descriptor WindowSet::transfer(std::uint32_t w, std::uint32_t copy, bool write) {
  Descriptor d;
  d.write = write;
  d.window = w;
  d.slot = copy;
  windows_[w].spec.map->runs(windows_[w].copies[copy].block, d.runs);
  for (const Run& run : d.runs) windows_[w].moved_bytes += run.bytes;
  return d;
}

std::uint64_t WindowSet::compulsory_bytes() const {
  std::map<std::pair<std::uint64_t, bool>, std::pair<std::uint64_t, std::uint64_t>> tensors;
  for (const Window& w : windows_) {
    auto& [moved, size] = tensors[{w.spec.tensor, w.spec.output}];
    moved += w.moved_bytes;
    size = w.spec.tensor_bytes;
  }
  std::uint64_t sum = 0;
  for (const auto& [key, t] : tensors) sum += std::min(t.first, t.second);
  return sum;
}

std::optional<Descriptor> WindowSet::fetch(std::uint32_t number, int ahead) {
  Window& w = windows_[number];
  const std::uint64_t step = step_ + static_cast<std::uint64_t>(ahead);
  BlockIndex block;
  if (step >= steps_ || !block_at(w, step, block)) return std::nullopt;
  if (w.loaded && block == w.copies[w.current].block) {
    ++skipped_;
    return std::nullopt;
  }
  ++fetches_;
  if (ahead == 0) {
    w.copies[w.current].block = block;
    w.loaded = true;
    ++w.arriving;
    return transfer(number, w.current, false);
  }
  w.next = (w.current + 1) % static_cast<std::uint32_t>(w.copies.size());
  w.copies[*w.next].block = block;
  ++w.next_arriving;
  return transfer(number, *w.next, false);
}

std::optional<Descriptor> WindowSet::write_back(std::uint32_t number) {
  Window& w = windows_[number];
  Copy& copy = w.copies[w.current];
  BlockIndex next;
  if (!block_at(w, step_, copy.block)) return std::nullopt;
  if (step_ + 1 < steps_) {
    if (!block_at(w, step_ + 1, next) || next == copy.block) return std::nullopt;
    w.next = (w.current + 1) % static_cast<std::uint32_t>(w.copies.size());
  }
  copy.leaving = true;
  ++write_backs_;
  return transfer(number, w.current, true);
}

bool WindowSet::output_ready(std::uint32_t number) const {
  const Window& w = windows_[number];
  return !w.copies[w.next.value_or(w.current)].leaving || !w.next;
}

bool WindowSet::drained(std::uint32_t number) const {
  for (const Copy& c : windows_[number].copies) {
    if (c.leaving) return false;
  }
  return true;
}

void WindowSet::complete(const Descriptor& t) {
  Window& w = windows_[t.window];
  Copy& copy = w.copies[t.slot];
  if (t.write) {
    copy.leaving = false;
    if (!copy.payload.empty()) w.spec.map->write(copy.block, copy.payload);
    return;
  }
  --(t.slot == w.current ? w.arriving : w.next_arriving);
  if (!copy.payload.empty()) w.spec.map->read(copy.block, copy.payload);
}

bool WindowSet::advance() {
  if (++step_ >= steps_) return false;
  grid_at(step_, index_);
  for (Window& w : windows_) {
    if (!w.next) continue;
    w.current = *w.next;
    w.next.reset();
    w.arriving = std::exchange(w.next_arriving, 0);
  }
  return true;
}

std::span<std::byte> WindowSet::payload(std::uint32_t w) {
  return windows_[w].copies[windows_[w].current].payload;
}

}  // namespace xpusim::tpu
