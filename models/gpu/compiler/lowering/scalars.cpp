#include "models/gpu/compiler/lowering/scalars.h"

#include <algorithm>
#include <bit>

namespace xpusim::gpu {

ScalarId ScalarGraph::node(ScalarKind kind, ScalarId left, ScalarId right, std::int64_t value) {
  const auto key = std::tuple{kind, left, right, value};
  if (auto it = known_.find(key); it != known_.end()) return it->second;
  nodes_.push_back({kind, left, right, value});
  return known_[key] = static_cast<ScalarId>(nodes_.size() - 1);
}

ScalarId ScalarGraph::in_register(VReg reg) {
  const ScalarId id = node(ScalarKind::kRegister, -1, -1, reg);
  at(id).general = reg;
  return id;
}

ScalarId ScalarGraph::in_register(VReg reg, std::int64_t multiple, std::int64_t below) {
  const ScalarId id = in_register(reg);
  at(id).multiple = multiple;
  at(id).below = below;
  return id;
}

ScalarId ScalarGraph::in_uniform_register(VReg reg) {
  const ScalarId id = node(ScalarKind::kRegister, -1, -1, reg);
  at(id).uniform = reg;
  return id;
}

ScalarId ScalarGraph::in_register_pair(VReg low, VReg high) {
  const ScalarId id = node(ScalarKind::kRegister, -1, -1, low);
  at(id).general = low;
  at(id).high = high;
  return id;
}

bool ScalarGraph::is_moving_pointer(ScalarId id) const {
  const Node& n = at(id);
  if (n.kind == ScalarKind::kRegister) return n.high != kNoVReg;
  return n.kind == ScalarKind::kPointerAdd && is_moving_pointer(n.left);
}

VReg ScalarGraph::upper_of(ScalarId id) const {
  if (id == kNoScalar) return kNoVReg;
  const Node& n = at(id);
  if (n.kind == ScalarKind::kRegister) return n.upper;
  if (n.kind != ScalarKind::kMultiply && n.kind != ScalarKind::kAdd &&
      n.kind != ScalarKind::kSubtract) {
    return kNoVReg;
  }
  const VReg left = upper_of(n.left);
  return left != kNoVReg ? left : upper_of(n.right);
}

std::int64_t ScalarGraph::multiple_of(ScalarId id) const {
  constexpr std::int64_t kLargest = std::int64_t{1} << 31;
  const Node& n = at(id);
  switch (n.kind) {
    case ScalarKind::kConstant:
      return n.value == 0 ? kLargest : n.value & -n.value;
    case ScalarKind::kRegister:
      return n.multiple;
    case ScalarKind::kMultiply:
      return std::min(kLargest, multiple_of(n.left) * multiple_of(n.right));
    case ScalarKind::kAdd:
    case ScalarKind::kSubtract:
      return std::min(multiple_of(n.left), multiple_of(n.right));
    default:
      return 1;
  }
}

std::int64_t ScalarGraph::largest_natural(ScalarId id) const {
  constexpr std::int64_t kLargestBlock = 65535;
  const Node& n = at(id);
  if (n.kind == ScalarKind::kConstant) return n.value;
  if (n.kind == ScalarKind::kProgramId) return n.value > 0 ? kLargestBlock - 1 : -1;
  if (n.kind != ScalarKind::kMultiply && n.kind != ScalarKind::kAdd) return -1;
  const std::int64_t left = largest_natural(n.left), right = largest_natural(n.right);
  if (left < 0 || right < 0) return -1;
  const std::int64_t most = n.kind == ScalarKind::kAdd ? left + right : left * right;
  return most <= std::numeric_limits<std::int32_t>::max() ? most : -1;
}

bool ScalarGraph::is_constant(ScalarId id, std::int64_t* value) const {
  if (at(id).kind != ScalarKind::kConstant) return false;
  *value = at(id).value;
  return true;
}

ScalarId ScalarGraph::multiply(ScalarId a, ScalarId b) {
  std::int64_t x, y;
  const bool left = is_constant(a, &x), right = is_constant(b, &y);
  if (left && right) return constant(x * y);
  if (left) return multiply(b, a);
  if (right && y == 1) return a;
  return node(ScalarKind::kMultiply, a, b, 0);
}

ScalarId ScalarGraph::add(ScalarId a, ScalarId b) {
  std::int64_t x, y;
  const bool left = is_constant(a, &x), right = is_constant(b, &y);
  if (left && right) return constant(x + y);
  if (left) return add(b, a);
  if (right && y == 0) return a;
  return node(ScalarKind::kAdd, a, b, 0);
}

ScalarId ScalarGraph::subtract(ScalarId a, ScalarId b) {
  std::int64_t x, y;
  const bool left = is_constant(a, &x), right = is_constant(b, &y);
  if (left && right) return constant(x - y);
  if (right) return add(a, constant(-y));
  return node(ScalarKind::kSubtract, a, b, 0);
}

std::int64_t ScalarGraph::factor_of(ScalarId id, ScalarId* inner) const {
  const Node& n = at(id);
  std::int64_t c = 0;
  if (n.kind != ScalarKind::kMultiply || !is_constant(n.right, &c)) return 0;
  *inner = n.left;
  return c;
}

int ScalarGraph::shift_of(ScalarId id, ScalarId* inner) const {
  const std::int64_t c = factor_of(id, inner);
  return c > 0 && (c & (c - 1)) == 0 ? std::countr_zero(static_cast<std::uint64_t>(c)) : -1;
}

bool ScalarGraph::is_uniform(ScalarId id) const {
  const Node& n = at(id);
  if (n.uniform != kNoVReg) return true;
  return n.general == kNoVReg && n.uniform_wanted;
}

VReg ScalarGraph::uniform(ScalarId id) {
  if (at(id).uniform != kNoVReg) return at(id).uniform;
  VReg left = kNoVReg, right = kNoVReg;
  const Node n = at(id);
  auto immediate = static_cast<std::uint32_t>(n.value);
  if (n.left >= 0) left = uniform(n.left);
  if (n.right >= 0) {
    std::int64_t constant_right = 0;
    if (is_constant(n.right, &constant_right)) {
      immediate = static_cast<std::uint32_t>(constant_right);
    } else {
      right = uniform(n.right);
    }
  }
  const VReg result = b_.uniform();
  switch (n.kind) {
    case ScalarKind::kConstant:
      b_.emit(Opcode::kUniform, "UMOV", {result}, {}, immediate);
      break;
    case ScalarKind::kParameter:
      b_.emit(Opcode::kUniform, "ULDC", {result}, {}, immediate);
      break;
    case ScalarKind::kProgramId:
      b_.emit(Opcode::kS2ur, "S2UR", {result}, {}, 1 + immediate);
      break;
    case ScalarKind::kGridSize:
      b_.emit(Opcode::kUniform, "ULDC", {result}, {}, kGridParameter + immediate);
      break;
    case ScalarKind::kMultiply:
      b_.emit(Opcode::kUniform, "UIMAD", {result}, {left, right}, immediate);
      break;
    case ScalarKind::kSubtract:
    case ScalarKind::kAdd:
      b_.emit(Opcode::kUniform, "UIADD3", {result}, {left, right},
              immediate ^ (n.kind == ScalarKind::kAdd ? 1u << 31 : 0));
      break;
    case ScalarKind::kRegister:
      b_.emit(Opcode::kUniform, "R2UR", {result}, {n.general});
      break;
    case ScalarKind::kPointerAdd:
      break;  // pointers are never asked for here
  }
  return at(id).uniform = result;
}

void ScalarGraph::compute_general(ScalarId id) {
  const Node n = at(id);
  const auto immediate = static_cast<std::uint32_t>(n.value);
  std::int64_t c = 0;
  switch (n.kind) {
    case ScalarKind::kConstant:
      at(id).general = b_.constant(immediate);
      break;
    case ScalarKind::kParameter:
      at(id).general = b_.value(Opcode::kLdc, "LDC", {}, immediate);
      break;
    case ScalarKind::kProgramId:
      at(id).general = b_.value(Opcode::kS2ur, "S2R", {}, 1 + immediate);
      break;
    case ScalarKind::kGridSize:
      at(id).general = b_.value(Opcode::kLdc, "LDC", {}, kGridParameter + immediate);
      break;
    case ScalarKind::kMultiply:
      if (is_constant(n.right, &c) && c > 0 && (c & (c - 1)) == 0) {
        at(id).general =
            b_.value(Opcode::kAlu, "SHF.L", {general(n.left)}, static_cast<std::uint32_t>(c));
      } else {
        const VReg left = general(n.left);
        const VReg right = is_constant(n.right, &c) ? kNoVReg : operand(n.right);
        at(id).general = b_.value(Opcode::kFma, "IMAD", {left, right},
                                  right == kNoVReg ? static_cast<std::uint32_t>(c) : 0);
      }
      break;
    case ScalarKind::kAdd:
    case ScalarKind::kSubtract: {
      const VReg left = general(n.left);
      const VReg right = is_constant(n.right, &c) ? kNoVReg : operand(n.right);
      at(id).general = b_.value(
          Opcode::kAlu, "IADD3", {left, right},
          right == kNoVReg ? static_cast<std::uint32_t>(c) : n.kind == ScalarKind::kSubtract);
      break;
    }
    case ScalarKind::kRegister:
    case ScalarKind::kPointerAdd:
      break;
  }
}

VReg ScalarGraph::general(ScalarId id) {
  if (at(id).general != kNoVReg) return at(id).general;
  if (is_uniform(id)) {
    const VReg from = uniform(id);
    return at(id).general = b_.move(from);
  }
  compute_general(id);
  return at(id).general;
}

VReg ScalarGraph::operand(ScalarId id) {
  if (at(id).general != kNoVReg) return at(id).general;
  if (is_uniform(id) || at(id).kind == ScalarKind::kParameter) return uniform(id);
  return general(id);
}

std::pair<VReg, VReg> ScalarGraph::pointer_by_uniform(ScalarId base, ScalarId index,
                                                      std::int64_t bytes) {
  const VReg i = uniform(index);
  const VReg pointer = b_.uniform(), low = b_.uniform(), high = b_.uniform();
  b_.emit(Opcode::kUniform, "ULDC.64", {pointer}, {}, static_cast<std::uint32_t>(at(base).value));
  b_.emit(Opcode::kUniform, "ULEA", {low}, {i, pointer}, static_cast<std::uint32_t>(bytes));
  b_.emit(Opcode::kUniform, "ULEA.HI.X", {high}, {i, pointer, low});
  const VReg a = b_.move(low), b = b_.move(high);
  b_.code().tie({a, b});
  return {a, b};
}

std::pair<VReg, VReg> ScalarGraph::pointer(ScalarId id) {
  if (at(id).high != kNoVReg) return {at(id).general, at(id).high};
  const Node n = at(id);
  std::pair<VReg, VReg> result;
  if (n.kind == ScalarKind::kPointerAdd && is_uniform(n.right) &&
      at(n.left).kind == ScalarKind::kParameter) {
    result = pointer_by_uniform(n.left, n.right, n.value);
  } else {
    const bool add = n.kind == ScalarKind::kPointerAdd;
    std::pair<VReg, VReg> base{kNoVReg, kNoVReg};
    VReg index = kNoVReg;
    std::int64_t step = 0;
    const bool moves = add && is_moving_pointer(n.left);
    const bool constant_step = moves && is_constant(n.right, &step);
    if (add) {
      base = pointer(n.left);
      if (!constant_step && at(n.right).high == kNoVReg) index = operand(n.right);
    }
    result = {b_.general(), b_.general()};
    b_.code().tie({result.first, result.second});
    if (constant_step) {
      const auto bytes = static_cast<std::uint32_t>(step * n.value);
      b_.emit(Opcode::kAlu, "IADD3.CO", {result.first}, {base.first}, bytes);
      b_.emit(Opcode::kFma, "IMAD.X", {result.second}, {base.second, result.first});
    } else if (add && at(n.right).high != kNoVReg) {
      b_.emit(Opcode::kAlu, "LEA.CO", {result.first}, {at(n.right).general, base.first},
              static_cast<std::uint32_t>(n.value));
      b_.emit(Opcode::kAlu, "LEA.HI.X", {result.second},
              {at(n.right).general, at(n.right).high, base.second, result.first},
              static_cast<std::uint32_t>(n.value));
    } else if (add) {
      b_.emit(Opcode::kFma, "IMAD.WIDE", {result.first, result.second},
              {index, base.first, base.second}, static_cast<std::uint32_t>(n.value));
    } else {
      b_.emit(Opcode::kLdc, "LDC.64", {result.first, result.second}, {},
              static_cast<std::uint32_t>(n.value));
    }
  }
  at(id).general = result.first;
  at(id).high = result.second;
  return result;
}

}  // namespace xpusim::gpu
