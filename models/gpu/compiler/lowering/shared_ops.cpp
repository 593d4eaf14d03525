// Buffers in shared memory: their views, and the stores and loads of tiles.

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/tile_access.h"

namespace xpusim::gpu {
namespace {

std::uint32_t element_bytes(const kernel::Type type) {
  return static_cast<std::uint32_t>(std::max(8, kernel::bit_width(type->dtype))) / 8;
}

void place_barrier(Lowering& l, const kernel::Op& op) {
  if (l.shared_plan().barrier_before(op)) l.barrier();
}

bool is_dot_operand(const kernel::Type tile) {
  return tile->encoding && tile->encoding->text.find("dot_op") != std::string::npos;
}

/// How STSM stores a tile, where it can: what matrix units leave, in elements of 16 bits.
std::optional<MatrixRows> rows_to_store(Lowering& l, const kernel::LinearLayout& layout,
                                        const kernel::SharedLayout& shared,
                                        const kernel::Type tile) {
  constexpr int kFirstWithStsm = 90;
  const bool of_matrix_unit = tile->encoding && tile->encoding->text.find("#ttg.nvidia_mma<") == 0;
  if (!of_matrix_unit || l.capability() < kFirstWithStsm) return std::nullopt;
  if (layout.copy_lanes() != 0 || layout.copy_warps() != 0 || layout.copy_registers() != 0) {
    return std::nullopt;
  }
  if (shared.element_bytes != 2 || layout.registers.size() < 3) return std::nullopt;
  auto rows = matrix_rows(layout, shared);
  return rows && has_whole_rows(layout, shared) ? rows : std::nullopt;
}

bool store_tile(Lowering& l, const kernel::Op& op, const kernel::Value& tile,
                const kernel::Type buffer, const BufferView& view) {
  place_barrier(l, op);
  const kernel::LinearLayout* layout = l.layout(tile.type, op);
  if (!layout) return false;
  const auto shared = kernel::shared_layout(buffer, op.text);
  if (!shared) return l.error(op, shared.error().list().front().message);
  const std::vector<Element> values = l.elements(tile);
  if (values.empty()) return l.error(op, "a stored tile has no value in registers");
  if (const auto rows = rows_to_store(l, *layout, *shared, tile.type)) {
    store_matrices(l, *layout, *shared, *rows, values, view);
  } else {
    store_vectors(l, *layout, *shared, values, view);
  }
  return true;
}

}  // namespace

bool lower_local_alloc(Lowering& l, const kernel::Op& op) {
  ValueState& s = l.state(*op.result());
  s.kind = ValueKind::kBuffer;
  s.buffer = {kNoVReg, l.shared_plan().offset(op)};
  if (op.operands.empty()) return true;
  const BufferView view = s.buffer;
  return store_tile(l, op, *op.operands[0], op.result()->type, view);
}

bool lower_local_dealloc(Lowering&, const kernel::Op&) { return true; }

bool lower_local_store(Lowering& l, const kernel::Op& op) {
  const BufferView view = l.operand(op, 1).buffer;
  return store_tile(l, op, *op.operands[0], op.operands[1]->type, view);
}

bool lower_local_load(Lowering& l, const kernel::Op& op) {
  place_barrier(l, op);
  const kernel::Type tile = op.result()->type, buffer = op.operands[0]->type;
  const BufferView view = l.operand(op, 0).buffer;
  const kernel::LinearLayout* layout = l.layout(tile, op);
  if (!layout) return false;
  const auto shared = kernel::shared_layout(buffer, op.text);
  if (!shared) return l.error(op, shared.error().list().front().message);
  const auto rows = is_dot_operand(tile) && shared->element_bytes == 2
                        ? matrix_rows(*layout, *shared)
                        : std::nullopt;
  l.set_elements(*op.result(), layout,
                 rows ? load_matrices(l, *layout, *shared, *rows, view)
                      : load_vectors(l, *layout, *shared, view));
  return true;
}

/// One of several buffers: a constant number moves the offset, another one is an address on the
/// uniform datapath.
bool lower_buffer_index(Lowering& l, const kernel::Op& op) {
  const BufferView from = l.operand(op, 0).buffer;
  const kernel::Type type = op.result()->type;
  const std::int64_t bytes = type->count() * element_bytes(type);
  ValueState& to = l.state(*op.result());
  to.kind = ValueKind::kBuffer;
  to.buffer = from;
  const ValueState& number = l.operand(op, 1);
  if (number.kind == ValueKind::kIndex && number.index.scalar == kNoScalar) {
    to.buffer.offset += number.index.offset * bytes;
    return true;
  }
  const VReg n = number.kind == ValueKind::kIndex ? l.uniform(number.index)
                                                  : l.in_register(l.elements(*op.operands[1])[0]);
  const VReg base = from.address == kNoVReg ? l.shared_base() : from.address;
  to.buffer.address = l.builder().uniform();
  const bool power = (bytes & (bytes - 1)) == 0;
  l.builder().emit(Opcode::kUniform, power ? "ULEA" : "UIMAD", {to.buffer.address}, {n, base},
                   static_cast<std::uint32_t>(bytes));
  return true;
}

/// A part of a buffer lies where the whole buffer has its first element.
bool lower_buffer_slice(Lowering& l, const kernel::Op& op) {
  const auto shared = kernel::shared_layout(op.operands[0]->type, op.text);
  if (!shared) return l.error(op, shared.error().list().front().message);
  const kernel::Attr offsets = op.attr("offsets");
  ValueState& to = l.state(*op.result());
  to.kind = ValueKind::kBuffer;
  to.buffer = l.operand(op, 0).buffer;
  to.buffer.offset += shared->offset(offsets ? offsets->int_list() : kernel::Basis{});
  return true;
}

/// Transposed, reshaped, reinterpreted: the same bytes.
bool lower_buffer_view(Lowering& l, const kernel::Op& op) {
  l.state(*op.result()) = l.operand(op, 0);
  return true;
}

}  // namespace xpusim::gpu
