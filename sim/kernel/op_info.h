#pragma once

// Every op of every dialect is defined once, in sim/kernel/dialects/: its name, its operands, its
// grammar (custom assembly), its verifier and its effects. Handlers of executors and machines are
// tables by OpId.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xpusim::kernel {

struct Op;
using OpId = std::uint16_t;  ///< dense over all defined ops of all dialects, fixed for a process

/// What an op does besides computing its results.
enum Effect : std::uint32_t {
  kPure = 0,
  kReadsGlobal = 1u << 0,
  kWritesGlobal = 1u << 1,
  kReadsShared = 1u << 2,  ///< shared memory, VMEM, SMEM
  kWritesShared = 1u << 3,
  kAtomic = 1u << 4,
  kAsync = 1u << 5,  ///< starts something that a later op waits for
  kWaits = 1u << 6,
  kBarrier = 1u << 7,
  kTerminator = 1u << 8,
  kControl = 1u << 9,       ///< has regions that run as control flow (scf.for, scf.if, ...)
  kElementwise = 1u << 10,  ///< result element i depends on operand elements i only
  kVisible =
      1u << 11,  ///< others can see it, or its result depends on others: run in step with time
};

class OpGrammar;  // sim/kernel/grammar/grammar.h: parse and print of the custom assembly form

/// How many values a group of operands or results holds.
enum class Arity : std::uint8_t { kOne, kOptional, kVariadic };

/// What the type of a value may be: a scalar of that kind or a tensor or vector of them.
enum class TypeClass : std::uint8_t {
  kAny,
  kInt,
  kFloat,
  kNumber,
  kBool,
  kPointer,
  kShaped,  ///< any tensor or vector
  kTensor,
  kVector,
  kMemDesc,
  kMemRef,
  kTensorDesc,
  kToken,
};

/// A named group of an op's operands or results.
struct ValueGroup {
  std::string name;
  Arity arity = Arity::kOne;
  TypeClass type_class = TypeClass::kAny;
};

/// `target = map(source)` over the types of an op's groups: infers types that the text leaves out,
/// and is checked on every op.
struct TypeRule {
  enum class Map : std::uint8_t {
    kSame,
    kBool,     ///< i1 in the source's shape and layout
    kPointee,  ///< what pointers point to, in the source's shape and layout
    kElement,  ///< the element type (of a scalar: itself)
    kBlock,    ///< the tensor of a tensor descriptor
    kFixed,    ///< always `fixed`, a scalar's or token's spelling
  };
  std::uint8_t target = 0, source = 0;  ///< operand groups first, then result groups
  Map map = Map::kSame;
  std::string fixed;
};

struct OpInfo {
  std::string name;  ///< "tt.load"
  OpId id = 0;
  std::uint32_t effects = kPure;
  const OpGrammar* grammar = nullptr;             ///< null: generic form only
  std::string (*verify)(const Op& op) = nullptr;  ///< "" if fine, else what is wrong
  std::string spelling;  ///< custom form: mostly `name`; "module" for builtin.module
  std::vector<ValueGroup> operands, results;  ///< in the order of Op::segments
  std::vector<TypeRule> type_rules;
  std::string format;  ///< the custom form where it is declared (grammar/format.h)

  /// Regions from this number on see no values from outside (functions, modules, warp partitions).
  std::size_t isolated_from = ~std::size_t{0};

  bool isolates(std::size_t region) const { return region >= isolated_from; }
  bool has(Effect e) const { return (effects & e) != 0; }
  bool has_segments() const;  ///< an operand group is optional or variadic
  /// The number of an operand group, or -1.
  int operand_group(std::string_view group) const;
};

/// The definition of an op by name, or null.
const OpInfo* find_op(std::string_view name);
const OpInfo& op_info(OpId id);
std::size_t op_count();               ///< OpIds are 0 .. op_count()-1
std::vector<std::string> op_names();  ///< for "did you mean"

}  // namespace xpusim::kernel
