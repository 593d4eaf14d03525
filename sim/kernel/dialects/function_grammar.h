#pragma once

#include <string>

#include "sim/kernel/grammar/grammar.h"

namespace xpusim::kernel {

/// [public|private] @name(%x: type {attributes} loc(...), ...) [-> types] [attributes {...}] [{
/// body }]
///
/// Attributes of the op: "sym_name", "sym_visibility" where it is written, "function_type",
/// "arg_attrs" and "res_attrs" (an array of a dictionary for each, where any has attributes), and
/// the others.
class FunctionGrammar : public OpGrammar {
 public:
  bool parse(Parser& parser, Op& op) const override;
  void print(Printer& printer, const Op& op) const override;
};

/// What tt.func and func.func must satisfy: a name, a type that agrees with the entry block and the
/// returns.
std::string verify_function(const Op& op);

}  // namespace xpusim::kernel
