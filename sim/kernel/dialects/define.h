#pragma once

// How the files of this folder define ops:
//
//   Dialect d("tt", ops);
//   d.op("addptr").in("ptr:ptr, offset:int").out("result:ptr").types("ptr = result")
//       .format("$ptr `,` $offset attr-dict `:` type($result) `,`
//       type($offset)").effects(kElementwise);
//
// `in` and `out` name the groups of operands and results, in the order of Op::segments: "mask?" is
// optional, "args*" variadic, ":int" the class of type (see parse_groups). An operand's or a
// result's type that the format does not spell follows from `types`.

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "sim/kernel/grammar/grammar.h"
#include "sim/kernel/op_info.h"

namespace xpusim::kernel {

/// All op definitions, in the order of their ids.
struct Definitions {
  std::deque<OpInfo> ops;
  std::deque<std::unique_ptr<OpGrammar>> grammars;
};

/// One op being defined.
class Definition {
 public:
  Definition(Definitions& all, OpInfo& info) : all_(all), info_(info) {}

  Definition& in(std::string_view groups);
  Definition& out(std::string_view groups);
  Definition& types(std::string_view rules);  ///< after in() and out()
  Definition& format(std::string text);
  Definition& grammar(std::unique_ptr<OpGrammar> grammar);
  Definition& verify(std::string (*check)(const Op&));
  Definition& effects(std::uint32_t effects);
  Definition& isolated(std::size_t from_region = 0);
  Definition& spelled(std::string spelling);

 private:
  Definitions& all_;
  OpInfo& info_;
};

/// Names the ops of one dialect.
class Dialect {
 public:
  Dialect(std::string name, Definitions& all) : name_(std::move(name)), all_(all) {}
  Definition op(std::string_view mnemonic);

 private:
  std::string name_;
  Definitions& all_;
};

/// The grammar of a constant: [{attributes}] value, whose type is the result's.
std::unique_ptr<OpGrammar> constant_grammar();

void define_builtin(Definitions& ops);
void define_func(Definitions& ops);
void define_arith(Definitions& ops);
void define_math(Definitions& ops);
void define_scf(Definitions& ops);
void define_cf(Definitions& ops);
void define_gpu(Definitions& ops);
void define_llvm(Definitions& ops);
void define_tt(Definitions& ops);
void define_tt_tiles(Definitions& ops);
void define_tt_memory(Definitions& ops);
void define_ttg(Definitions& ops);
void define_warp_specialize(Definitions& ops);
void define_ttng(Definitions& ops);
void define_vector(Definitions& ops);
void define_memref(Definitions& ops);
void define_stablehlo(Definitions& ops);
void define_tpu(Definitions& ops);
void define_tpu_vectors(Definitions& ops);

}  // namespace xpusim::kernel
