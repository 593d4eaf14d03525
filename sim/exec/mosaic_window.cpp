#include "sim/exec/mosaic_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "sim/exec/handlers/views.h"

namespace xpusim::exec {
namespace {

using kernel::Op;
using kernel::Value;

/// Adds the memrefs that are views of one in `views`, and tells whether an op writes to any.
bool writes_any(const kernel::Block& block, std::unordered_set<const Value*>& views) {
  bool writes = false;
  const auto is_memref = [](const Value& v) { return v.type->kind == kernel::TypeKind::kMemRef; };
  for (const auto& op : block.ops) {
    const bool uses = std::any_of(op->operands.begin(), op->operands.end(),
                                  [&](const Value* v) { return views.contains(v); });
    if (uses && op->name() == "tpu.enqueue_dma") {
      writes = writes || views.contains(op->operand_of(2));
    } else if (uses && (op->info->effects & kernel::kWritesShared) != 0) {
      writes = true;
    }
    for (const auto& r : op->results) {
      if (uses && is_memref(*r)) views.insert(r.get());
    }
    for (const auto& region : op->regions) {
      for (const auto& inner : region->blocks) writes = writes_any(*inner, views) || writes;
    }
  }
  return writes;
}

}  // namespace

bool writes_to(const kernel::Block& block, const Value& memref) {
  std::unordered_set<const Value*> views{&memref};
  return writes_any(block, views);
}

Expected<MosaicWindow> MosaicWindow::make(std::shared_ptr<const kernel::Module> module,
                                          const kernel::Function& function, std::size_t argument,
                                          kernel::Attr params, DeviceMemory& memory,
                                          const Allocation& tensor) {
  MosaicWindow w;
  const Value& memref = *function.entry().args[argument];
  const std::string_view named = kernel::loc_name(memref.loc);
  w.name_ = std::string(named.empty() ? std::string_view(memref.name) : named);
  w.argument_ = argument;
  w.where_ = function.op->line();
  w.memory_ = &memory;
  w.tensor_ = &tensor;
  w.shape_.assign(memref.type->shape.begin(), memref.type->shape.end());
  w.output_ = writes_to(function.entry(), memref);
  const auto refuse = [&](std::string why) {
    return fail(w.where_, fmt::format("window '{}': {}", w.name_, why));
  };
  if (tensor.shape.size() != w.shape_.size())
    return refuse(
        fmt::format("it has {} dimensions, its tensor {}", w.shape_.size(), tensor.shape.size()));
  if (params && params->get("window_kind"))
    return refuse("windows at element offsets are not modelled");
  const kernel::Attr transform = params ? params->get("transform_indices") : nullptr;
  if (!transform) {
    w.synchronous_ = true;
    if (!std::equal(w.shape_.begin(), w.shape_.end(), tensor.shape.begin()))
      return refuse("without a transform it needs the whole tensor, which has another shape");
    return w;
  }
  const kernel::Function* f = module->function(transform->string);
  if (!f) return refuse(fmt::format("there is no function '{}'", transform->string));
  const kernel::Attr bounds = params->get("window_bounds");
  if (bounds && bounds->int_list() != memref.type->shape)
    return refuse("its window_bounds differ from its memref");
  auto made = WindowTransform::make(std::move(module), *f);
  if (!made) return fail(made.error());
  w.transform_ = std::move(*made);
  const kernel::Attr mode = params->get("pipeline_mode");
  w.synchronous_ = mode && mode->text.find("synchronous") != std::string::npos;
  return w;
}

void MosaicWindow::hold(std::uint64_t bytes) {
  for (auto& copy : copies_) copy.assign(bytes, kUnwrittenByte);
  if (synchronous_) copies_[1].clear();
}

Buffer MosaicWindow::buffer() { return {copies_[current_], tensor_->dtype, shape_}; }

bool MosaicWindow::block_at(std::span<const std::int64_t> grid_index,
                            std::span<const Buffer> prefetch, Block& out, Diagnostics& problems) {
  if (!transform_) {
    out.assign(shape_.size(), 0);
    return true;
  }
  const std::span<const std::int64_t> index = transform_->evaluate(grid_index, prefetch);
  if (index.size() != shape_.size()) {
    const ExecError& error = transform_->error();
    problems.error(index.empty() && !error.message.empty() ? error.line : where_,
                   fmt::format("window '{}': {}", name_,
                               index.empty() && !error.message.empty()
                                   ? error.message
                                   : "its transform gives another number of indices"));
    return false;
  }
  out.assign(index.begin(), index.end());
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] >= 0 && out[d] <= (tensor_->shape[d] - 1) / std::max<std::int64_t>(shape_[d], 1))
      continue;
    problems.error(where_, fmt::format("window '{}': block {} of dimension {} lies outside tensor "
                                       "'{}' of {} elements",
                                       name_, out[d], d, tensor_->name, tensor_->shape[d]));
    return false;
  }
  return true;
}

/// Calls f(address, byte offset in the block, bytes) for each row of the part of a block that lies
/// inside the tensor.
template <class F>
void MosaicWindow::for_rows(const Block& block, F f) const {
  const std::size_t rank = shape_.size();
  const auto size = static_cast<std::uint64_t>(kernel::byte_size(tensor_->dtype));
  if (rank == 0) return f(tensor_->address, std::uint64_t{0}, size);
  Shape low(rank), extent(rank), index(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    low[d] = block[d] * shape_[d];
    extent[d] = std::min(shape_[d], tensor_->shape[d] - low[d]);
    index[d] = 0;
  }
  while (true) {
    std::uint64_t from = 0, to = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      from = from * static_cast<std::uint64_t>(tensor_->shape[d]) +
             static_cast<std::uint64_t>(low[d] + index[d]);
      to = to * static_cast<std::uint64_t>(shape_[d]) + static_cast<std::uint64_t>(index[d]);
    }
    f(tensor_->address + from * size, to * size,
      static_cast<std::uint64_t>(extent[rank - 1]) * size);
    std::size_t d = rank - 1;
    while (d > 0 && ++index[d - 1] == extent[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

void MosaicWindow::fetch(const Block& block, std::vector<std::byte>& payload) {
  ++fetches;
  if (payload.empty()) return;
  std::fill(payload.begin(), payload.end(), kUnwrittenByte);
  for_rows(block, [&](std::uint64_t address, std::uint64_t at, std::uint64_t bytes) {
    memory_->read(address, std::span(payload).subspan(at, bytes));
  });
}

void MosaicWindow::write_back() {
  ++write_backs;
  const std::vector<std::byte>& payload = copies_[current_];
  if (payload.empty()) return;
  for_rows(block_, [&](std::uint64_t address, std::uint64_t at, std::uint64_t bytes) {
    memory_->write(address, std::span(payload).subspan(at, bytes));
  });
}

bool MosaicWindow::go_to(std::span<const std::int64_t> grid_index, std::span<const Buffer> prefetch,
                         Diagnostics& problems) {
  if (next_.empty() && block_.empty()) {
    if (!block_at(grid_index, prefetch, next_, problems)) return false;
  } else if (next_ == block_) {
    skipped_fetches += output_ ? 0 : 1;
    return true;
  }
  if (next_read_) {
    current_ ^= 1;
    next_read_ = false;
  } else if (output_) {
    if (!synchronous_) current_ ^= 1;
    std::fill(copies_[current_].begin(), copies_[current_].end(), kUnwrittenByte);
  } else {
    fetch(next_, copies_[current_]);
  }
  block_ = next_;
  return true;
}

bool MosaicWindow::look_ahead(std::span<const std::int64_t> grid_index, bool last,
                              std::span<const Buffer> prefetch, Diagnostics& problems) {
  if (last) return true;
  if (!block_at(grid_index, prefetch, next_, problems)) return false;
  if (output_ || synchronous_ || next_ == block_) return true;
  fetch(next_, copies_[current_ ^ 1]);
  next_read_ = true;
  return true;
}

void MosaicWindow::leave(bool last) {
  if (output_ && (last || next_ != block_)) write_back();
}

}  // namespace xpusim::exec
