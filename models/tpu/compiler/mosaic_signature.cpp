// The arguments of a Mosaic function: grid indices, scalar-prefetch operands, windows, scratch.

#include <fmt/format.h>

#include <algorithm>

#include "models/tpu/compiler/mosaic_front.h"
#include "sim/exec/mosaic_window.h"

namespace xpusim::tpu {
namespace {

using kernel::Op;
using kernel::Value;

bool in_space(const Value& memref, std::string_view space) {
  const kernel::Attr a = memref.type->memory_space;
  return a && a->text.find(space) != std::string::npos;
}

/// The scalar instructions of a transform, of the address that follows from it (a multiply and an
/// add a dimension), of the comparison with the last block, and of the descriptor's four words.
std::int64_t window_scalar_ops(const kernel::Function* transform, std::size_t rank) {
  std::int64_t ops = 3 * static_cast<std::int64_t>(rank) + 4;
  if (!transform) return ops;
  for (const auto& op : transform->entry().ops) {
    if (op->name() != "arith.constant" && op->name() != "func.return") ++ops;
  }
  return ops;
}

}  // namespace

bool MosaicFront::is_stored(const Value& memref) const {
  return exec::writes_to(function_.entry(), memref);
}

std::uint16_t MosaicFront::add_buffer(const Value& memref, const Extent& e, Element element,
                                      BufferKind kind, int copies) {
  const VregGrid g = grid_of(e, element);
  Buffer b;
  b.name = std::string(kernel::loc_name(memref.loc));
  if (b.name.empty()) b.name = memref.name;
  b.kind = kind;
  b.bytes = g.count() * tile_bytes(element);
  b.copies = copies;
  plan_.program.buffers.push_back(b);
  const auto id = static_cast<std::uint16_t>(plan_.program.buffers.size() - 1);
  buffers_[memref.id] = id;
  return id;
}

void MosaicFront::arguments() {
  const Op& f = *function_.op;
  const kernel::Attr bounds = f.attr("iteration_bounds");
  if (bounds) plan_.grid = bounds->int_list();
  for (std::size_t d = 0; d < plan_.grid.size(); ++d) {  // an open extent comes with the launch
    if (plan_.grid[d] < 0 && d < launch_.grid.size()) plan_.grid[d] = launch_.grid[d];
  }
  const auto prefetch = static_cast<std::size_t>(f.int_attr("scalar_prefetch"));
  const auto scratches = static_cast<std::size_t>(f.int_attr("scratch_operands"));
  const std::size_t count = function_.arg_count();
  const std::size_t first = plan_.grid.size() + prefetch;
  if (first + scratches > count) {
    problems_.error(f.line(), fmt::format("{} arguments are too few for {} grid dimensions, {} "
                                          "scalar-prefetch and {} scratch operands",
                                          count, plan_.grid.size(), prefetch, scratches));
    return;
  }
  const kernel::Attr params = f.attr("window_params");
  for (std::size_t a = first; a < count - scratches; ++a) {
    const std::size_t w = a - first;
    const kernel::Attr own = params && w < params->elements.size() ? params->elements[w] : nullptr;
    window(a, a - plan_.grid.size(), own);
  }
  for (std::size_t a = count - scratches; a < count; ++a) scratch(a);
}

void MosaicFront::window(std::size_t argument, std::size_t operand, kernel::Attr params) {
  const Value& memref = *function_.entry().args[argument];
  if (in_space(memref, "smem") || in_space(memref, "any") || in_space(memref, "hbm")) return;
  if (!in_space(memref, "vmem")) {
    problems_.error(
        function_.op->line(),
        fmt::format("operand '{}': {}only VMEM windows, SMEM and HBM are modelled",
                    kernel::loc_name(memref.loc), in_space(memref, "cmem") ? "CMEM is not, " : ""));
    return;
  }
  WindowPlan w;
  w.operand = operand;
  w.argument = argument;
  w.element = element(memref, *function_.op);
  if (w.element == Element::kNone) {
    problems_.error(function_.op->line(), fmt::format("the TPU's vector unit has no {}",
                                                      kernel::name(memref.type->dtype)));
    w.element = Element::kF32;
  }
  w.block = memref.type->shape;
  w.output = is_stored(memref);
  if (const kernel::Attr t = params ? params->get("transform_indices") : nullptr) {
    w.transform = launch_.module->function(t->string);
  }
  const kernel::Attr mode = params ? params->get("pipeline_mode") : nullptr;
  w.synchronous = !w.transform || (mode && mode->text.find("synchronous") != std::string::npos);
  w.scalar_ops = window_scalar_ops(w.transform, w.block.size());
  w.line = lines_.line(function_.op->line());
  w.buffer = add_buffer(memref, extent(*memref.type), w.element,
                        w.output ? BufferKind::kOutput : BufferKind::kInput, w.synchronous ? 1 : 2);
  plan_.windows.push_back(std::move(w));
}

void MosaicFront::scratch(std::size_t argument) {
  const Value& memref = *function_.entry().args[argument];
  if (!in_space(memref, "vmem")) return;  // SMEM and semaphores take no VMEM
  const Element e = element(memref, *function_.op);
  add_buffer(memref, extent(*memref.type), e, BufferKind::kScratch, 1);
}

}  // namespace xpusim::tpu
