#pragma once

// A format (grammar/format.h), compiled.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/kernel/op_info.h"

namespace xpusim::kernel {

class Parser;
class Printer;
struct EnumTable;

/// How an attribute is written.
enum class Style : std::uint8_t {
  kAny,     ///< in its own syntax
  kEnum,    ///< a keyword of `table`
  kNumber,  ///< a bare number of type `number`
  kSymbol,
  kString,
  kType,
  kUnit,     ///< not at all: it is there where its group is
  kIntList,  ///< [1, 0], elements of type `number`
  kParams,   ///< <...>: the parameters of the dialect attribute `dialect_attr`
};

/// One element of a format.
struct Element {
  enum class Kind : std::uint8_t {
    kLiteral,
    kOperand,
    kAttribute,
    kType,
    kTypeParams,
    kSignature,
    kRegion,
    kAttrDict,
    kOptional,
  };
  Kind kind = Kind::kLiteral;
  std::string text;      ///< literal ("" only keeps two elements together), or attribute name
  std::size_t slot = 0;  ///< group of an operand or type: operand groups first, then results
  Style style = Style::kAny;
  const EnumTable* table = nullptr;
  DType number = DType::kNone;
  std::string dialect_attr;
  std::vector<Element> children;  ///< of kOptional
  std::size_t anchor = 0;         ///< the child that decides whether kOptional is printed
};

/// Compiles `info.format`; a malformed one ends the process.
std::vector<Element> compile_format(const OpInfo& info);
/// Reads an op's operands, attributes, regions and types as the elements say, and makes its
/// results.
bool read_format(Parser& parser, Op& op, const std::vector<Element>& elements);
/// `named`: the attributes that stand outside of the attr-dict.
void print_format(Printer& printer, const Op& op, const std::vector<Element>& elements,
                  const std::vector<std::string>& named);

}  // namespace xpusim::kernel
