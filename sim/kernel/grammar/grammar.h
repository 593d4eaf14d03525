#pragma once

#include "sim/kernel/ir.h"

namespace xpusim::kernel {

class Parser;
class Printer;

/// The custom assembly form of an op: how its text is read and printed. Most forms are declared
/// (grammar/format.h); an irregular one is a class of its own in its dialect's file.
class OpGrammar {
 public:
  OpGrammar() = default;
  OpGrammar(const OpGrammar&) = delete;
  OpGrammar& operator=(const OpGrammar&) = delete;
  virtual ~OpGrammar() = default;

  /// Reads what follows the op's name into `op`: operands, attributes, regions and results (without
  /// their names). Returns false after an error, which has been reported then.
  virtual bool parse(Parser& parser, Op& op) const = 0;
  /// Prints what follows the op's name.
  virtual void print(Printer& printer, const Op& op) const = 0;
};

}  // namespace xpusim::kernel
