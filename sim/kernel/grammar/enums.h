#pragma once

// The enumerations that custom assembly writes as keywords and that attributes hold as integers,
// with the numbers that MLIR and Triton give them.

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/kernel/ir.h"

namespace xpusim::kernel {

struct EnumCase {
  std::string_view keyword;
  std::int64_t value;
};

struct EnumTable {
  std::string_view name;  ///< as formats call it
  DType type;             ///< of the integer attribute
  std::span<const EnumCase> cases;
};

/// The enumeration of that name, or null.
const EnumTable* find_enum(std::string_view name);

}  // namespace xpusim::kernel
