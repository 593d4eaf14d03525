#include "models/tpu/core/windows.h"

#include <algorithm>
#include <array>
#include <utility>

namespace xpusim::tpu {

WindowSet::WindowSet(std::vector<WindowSpec> windows, GridBox grid)
    : grid_(std::move(grid)), steps_(grid_.steps()) {
  grid_.at(0, index_);
  for (WindowSpec& spec : windows) {
    Window w;
    w.copies.resize(spec.copies);
    for (Copy& c : w.copies) c.payload.resize(spec.payload_bytes);
    w.spec = std::move(spec);
    windows_.push_back(std::move(w));
  }
}

bool WindowSet::block_at(Window& w, std::uint64_t step, BlockIndex& out) {
  grid_.at(step, scratch_);
  if (w.spec.map->block(scratch_, out)) return true;
  if (error_.empty()) error_ = w.spec.name + ": " + w.spec.map->error();
  return false;
}

Descriptor WindowSet::transfer(std::uint32_t w, std::uint32_t copy, bool write) {
  Descriptor d;
  d.number = w;
  d.slot = copy;
  std::vector<Run>& runs = write ? d.writes : d.reads;
  windows_[w].spec.map->runs(windows_[w].copies[copy].block, runs);
  for (const Run& run : runs) windows_[w].moved_bytes += run.bytes;
  return d;
}

void WindowSet::add_traffic(TensorTraffic& tensors) const {
  for (const Window& w : windows_) {
    Traffic& t = tensors[{w.spec.tensor, w.spec.output}];
    t.moved += w.moved_bytes;
    t.size = w.spec.tensor_bytes;
  }
}

std::uint64_t compulsory_bytes(const WindowSet::TensorTraffic& tensors) {
  std::uint64_t sum = 0;
  for (const auto& [key, t] : tensors) sum += std::min(t.moved, t.size);
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
  Window& w = windows_[t.number];
  Copy& copy = w.copies[t.slot];
  if (w.spec.output) {
    copy.leaving = false;
    if (!copy.payload.empty()) w.spec.map->write(copy.block, copy.payload);
    return;
  }
  --(t.slot == w.current ? w.arriving : w.next_arriving);
  if (!copy.payload.empty()) w.spec.map->read(copy.block, copy.payload);
}

bool WindowSet::advance() {
  if (++step_ >= steps_) return false;
  grid_.at(step_, index_);
  for (Window& w : windows_) {
    if (!w.next) continue;
    w.current = *w.next;
    w.next.reset();
    w.arriving = std::exchange(w.next_arriving, 0);
  }
  return true;
}

/// An output's copy is in use from the step that it is written in, an input's once the block is
/// there.
CopyState WindowSet::copy_state(std::uint32_t number, std::uint32_t copy) const {
  using Kind = CopyState::Kind;
  const Window& w = windows_[number];
  const bool over = step_ >= steps_, current = copy == w.current && !over;
  const BlockIndex& block = w.copies[copy].block;
  if (w.spec.output) {
    if (w.copies[copy].leaving) return {Kind::kLeaving, block};
    return current ? CopyState{Kind::kInUse, {}} : CopyState{};
  }
  if (w.next == copy) return {w.next_arriving > 0 ? Kind::kFilling : Kind::kReady, block};
  if (current && w.loaded) return {w.arriving > 0 ? Kind::kFilling : Kind::kInUse, block};
  return block.empty() ? CopyState{} : CopyState{Kind::kOld, block};
}

std::string_view name(CopyState::Kind kind) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(CopyState::Kind::kCount)>
      kNames = {"empty", "filling", "ready", "in_use", "old", "leaving"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view meaning(CopyState::Kind kind) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(CopyState::Kind::kCount)>
      kMeanings = {"holds nothing that is needed",
                   "a DMA brings a block",
                   "holds the block of a later step",
                   "holds the block of the current step",
                   "holds a block that no step needs any more",
                   "a DMA takes its block away"};
  return kMeanings[static_cast<std::size_t>(kind)];
}

std::span<std::byte> WindowSet::payload(std::uint32_t w) {
  return windows_[w].copies[windows_[w].current].payload;
}

}  // namespace xpusim::tpu
