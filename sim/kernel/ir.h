#pragma once

// The block-kernel IR: what a Triton (TTIR, TTGIR) or Pallas (Mosaic) kernel is, once read. It
// keeps everything that its text says, so that printing it and reading it again gives the same IR.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/config/diagnostics.h"

namespace xpusim::kernel {

struct TypeData;
struct AttrData;
struct LocData;
/// Types, attributes and locations are uniqued in their Context: equal means same pointer.
using Type = const TypeData*;
using Attr = const AttrData*;
using Loc = const LocData*;

/// An element type. Bits in memory: f8 8, i1 8, index 64, pointers 64.
enum class DType : std::uint8_t {
  kNone,
  kI1,
  kI4,
  kI8,
  kI16,
  kI32,
  kI64,
  kIndex,
  kF8E4M3FN,
  kF8E5M2,
  kF16,
  kBF16,
  kTF32,
  kF32,
  kF64,
};
int byte_size(DType d);  ///< bytes an element takes in memory (i1: 1, i4: 1 by itself)
int bit_width(DType d);  ///< value bits (i1: 1, i4: 4, index: 64)
bool is_float(DType d);
bool is_integer(DType d);                  ///< i1..i64 and index
std::string_view name(DType d);            ///< "f32", "bf16", "f8E4M3FN", "i1", "index", ...
DType dtype_named(std::string_view text);  ///< kNone if there is no such type

enum class TypeKind : std::uint8_t {
  kNone,
  kScalar,
  kPointer,
  kTensor,
  kVector,
  kMemDesc,
  kMemRef,
  kTensorDesc,
  kToken,
  kFunction,
  kTuple,
  kOpaque,
};

inline constexpr std::int64_t kDynamic = -1;  ///< a dimension known only at run time ('?')

/// A type. Shaped types (tensor, vector, memdesc, memref, tensordesc) have a shape and an element.
struct TypeData {
  TypeKind kind = TypeKind::kNone;
  DType dtype = DType::kNone;  ///< scalar: itself; shaped with scalar elements: theirs
  bool is_unsigned = false;    ///< uiN (shape of a print only; arithmetic is by op)
  std::vector<std::int64_t> shape;
  Type element = nullptr;  ///< shaped: element type; pointer: pointee; tensordesc: its block tensor
  Attr encoding = nullptr;  ///< tensor/memdesc layout (#ttg.blocked<...>); memref layout map
  Attr memory_space =
      nullptr;  ///< memdesc: #smem; memref: #tpu.memory_space<vmem>; pointer: address space
  bool is_mutable = false;                ///< memdesc: mutable
  std::vector<std::int64_t> alloc_shape;  ///< memdesc subviews: the allocation's shape
  std::vector<Type> inputs, results;      ///< function and tuple types
  std::string text;                       ///< canonical spelling with aliases expanded

  bool is_shaped() const {
    return kind == TypeKind::kTensor || kind == TypeKind::kVector || kind == TypeKind::kMemDesc ||
           kind == TypeKind::kMemRef;
  }
  bool is_pointer_like() const {  ///< a pointer, or a tensor of pointers
    return kind == TypeKind::kPointer ||
           (element && element->kind == TypeKind::kPointer && is_shaped());
  }
  Type pointee() const;        ///< of a pointer or tensor of pointers, else null
  std::int64_t count() const;  ///< elements of a static shape; 1 for scalars
};

enum class AttrKind : std::uint8_t {
  kUnit,
  kBool,
  kInteger,
  kFloat,
  kString,
  kSymbol,
  kArray,
  kDictionary,
  kDenseArray,
  kDenseElements,
  kType,
  kDialect,
  kOpaque,
};

/// An attribute. Dialect attributes (#ttg.blocked<{...}>, #tpu.memory_space<vmem>) keep their name
/// in `string` and their parameters in `fields` (named), `elements` (positional) or `body` (raw
/// text).
struct AttrData {
  AttrKind kind = AttrKind::kUnit;
  std::int64_t integer = 0;    ///< kBool, kInteger
  double real = 0;             ///< kFloat (its raw bits are in `integer`)
  std::string string;          ///< kString; kSymbol (without @); kDialect: "ttg.blocked"; kOpaque
  std::string body;            ///< kDialect: raw parameter text where it has no fields
  std::vector<Attr> elements;  ///< kArray; kDialect positional parameters
  std::vector<std::pair<std::string, Attr>> fields;  ///< kDictionary; kDialect named parameters
  Type type = nullptr;  ///< of kInteger, kFloat, kDenseElements, kDenseArray element; kType
  std::vector<std::int64_t> ints;  ///< kDenseArray, kDenseElements: integers sign-extended (i1: 0
                                   ///< or 1), floats as raw bits
  bool splat = false;              ///< kDenseElements: one element stands for all
  std::string text;                ///< canonical spelling with aliases expanded

  Attr get(std::string_view field) const;      ///< a field by name, or null
  std::vector<std::int64_t> int_list() const;  ///< kArray of integers or kDenseArray
};

enum class LocKind : std::uint8_t { kUnknown, kFile, kName, kCallSite, kFused };

/// A source location; `user_line` finds the user's own line in it.
struct LocData {
  LocKind kind = LocKind::kUnknown;
  std::string file_or_name;  ///< kFile: file; kName: name
  int line = 0, column = 0, end_line = 0, end_column = 0;
  Loc child = nullptr;     ///< kName: the named location; kCallSite: callee
  Loc caller = nullptr;    ///< kCallSite
  std::vector<Loc> fused;  ///< kFused; its metadata, if any, is in file_or_name
  std::string text;        ///< canonical spelling with aliases expanded: loc("a.py":1:2)
};
/// The line of the user's own source that an op came from: through names, and through call sites to
/// the outermost caller that has a file. A position without file when the text names none.
SourcePosition user_line(Loc loc);
/// The name that a kName location gives (an argument's own name), or "".
std::string_view loc_name(Loc loc);

struct Op;
struct Block;
struct Region;

/// An SSA value: a result of an op, or an argument of a block.
struct Value {
  Type type = nullptr;
  Op* def = nullptr;        ///< null for block arguments
  Block* owner = nullptr;   ///< block arguments: their block
  std::uint32_t index = 0;  ///< result or argument number
  std::uint32_t id = 0;     ///< dense within the function (see Function::value_count)
  std::string name;         ///< as printed, without '%' (and without '#k' of multi-results)
  Loc loc = nullptr;
};

/// The name that a function's parameter has in the source. A compiler that renames it on the way
/// wraps the name that it had: the innermost one counts.
std::string_view parameter_name(const Value& parameter);

struct Block {
  std::vector<std::unique_ptr<Value>> args;
  std::vector<std::unique_ptr<Op>> ops;
  Region* parent = nullptr;
  std::string label;  ///< "bb0", or "" if the text had none
};

struct Region {
  std::vector<std::unique_ptr<Block>> blocks;
  Op* parent = nullptr;
};

struct OpInfo;  // sim/kernel/op_info.h: name, dense id, grammar, verifier, effects

struct Op {
  const OpInfo* info = nullptr;  ///< never null; unknown ops are errors of the reader
  std::vector<Value*> operands;
  /// Operand groups of variadic ops: their sizes, in the order of the op's definition. Absent
  /// optional operands have size 0. Empty when every operand is single.
  std::vector<std::uint32_t> segments;
  std::vector<std::unique_ptr<Value>> results;
  std::vector<std::pair<std::string, Attr>> attrs;  ///< in printed order; properties included
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<Block*> successors;
  Loc loc = nullptr;
  SourcePosition text;  ///< where the op stands in the kernel text
  Block* parent = nullptr;
  std::uint32_t id = 0;              ///< dense within the function
  bool generic_form = false;         ///< printed as "dialect.op"(...): kept for printing
  std::uint32_t property_count = 0;  ///< generic form: so many leading attrs stand in `<{...}>`

  std::string_view name() const;
  Attr attr(std::string_view key) const;  ///< or null
  std::int64_t int_attr(std::string_view key, std::int64_t otherwise = 0) const;
  std::string_view str_attr(std::string_view key) const;  ///< "" if absent
  Value* result(std::size_t i = 0) const { return results[i].get(); }
  /// The operands of a group, by its number in the op's definition (see OpInfo::operands).
  std::span<Value* const> group(std::size_t i) const;
  /// The operand of a single or optional group, or null if it is absent.
  Value* operand_of(std::size_t i) const;
  /// The user's source line of this op, or the line of the kernel text where there is none.
  SourcePosition line() const;
};

/// Owns and uniques types, attributes and locations.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  Type type(TypeData data);  ///< uniqued by data.text; computes text if empty
  Attr attr(AttrData data);
  Loc loc(LocData data);
  Type scalar(DType d);
  Loc unknown_loc();

  Type pointer(Type pointee, Attr memory_space = nullptr);
  Type tensor(std::vector<std::int64_t> shape, Type element, Attr encoding = nullptr);
  Type vector(std::vector<std::int64_t> shape, Type element);
  Type function(std::vector<Type> inputs, std::vector<Type> results);
  Type token();  ///< !ttg.async.token
  /// The shape and layout of `shaped` with another element; `element` itself if it is a scalar.
  Type like(Type shaped, Type element);

  Attr unit();
  Attr boolean(bool v);
  Attr integer(std::int64_t v, Type type);  ///< without type: printed as a bare number
  Attr real(double v, Type type);
  Attr string(std::string v);
  Attr symbol(std::string v);
  Attr array(std::vector<Attr> elements);
  Attr dictionary(std::vector<std::pair<std::string, Attr>> fields);
  Attr int_array(std::vector<std::int64_t> values, Type element);  ///< array<i32: ...>
  Attr type_attr(Type type);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

enum class Form : std::uint8_t { kTtir, kTtgir, kMosaic, kStableHlo };
std::string_view name(Form f);

/// A function of a module: `op` is the tt.func or func.func; its one region is the body.
struct Function {
  Op* op = nullptr;
  std::string name;
  bool is_public = true;
  std::uint32_t value_count = 0;  ///< ids of its values are 0 .. value_count-1
  std::uint32_t op_count = 0;
  Block& entry() const { return *op->regions[0]->blocks[0]; }
  std::size_t arg_count() const { return entry().args.size(); }
  /// An attribute of a parameter (tt.divisibility, ...), or null.
  Attr arg_attr(std::size_t arg, std::string_view key) const;
};

/// A kernel text, read. The kernel is its first public function with a body that is no transform.
struct Module {
  std::shared_ptr<Context> context;
  std::unique_ptr<Op> op;  ///< the builtin.module
  std::vector<Function> functions;
  Form form = Form::kTtir;
  std::string file;
  std::vector<std::pair<std::string, Attr>> aliases;       ///< #name = attr, in order, for printing
  std::vector<std::pair<std::string, Type>> type_aliases;  ///< !name = type
  std::vector<std::pair<std::string, Loc>> loc_aliases;    ///< #name = loc(...)
  std::vector<std::string>
      leading_aliases;          ///< names of the alias lines before the module, in order
  std::uint64_t text_hash = 0;  ///< of the text that was read

  const Function* kernel() const;  ///< what a launch runs; null in an empty module
  const Function* function(std::string_view name) const;
};

/// Reads the text of a kernel; every problem comes with its position and what was expected.
Expected<Module> read_module(std::string_view text, std::string file);
Expected<Module> read_module_file(const std::string& path);
/// The text of a module; reading it again gives the same IR. What a compiler printed is printed
/// back byte for byte.
std::string print_module(const Module& module);
/// Lists the module's functions and numbers their values and ops anew; to be called after a change.
void index_functions(Module& module);

}  // namespace xpusim::kernel
