#include <array>

#include "sim/kernel/ir.h"

namespace xpusim::kernel {
namespace {

struct DTypeFacts {
  std::string_view name;
  int bytes;
  int bits;
};

/// In the order of DType.
constexpr std::array<DTypeFacts, 15> kFacts = {{
    {"none", 0, 0},
    {"i1", 1, 1},
    {"i4", 1, 4},
    {"i8", 1, 8},
    {"i16", 2, 16},
    {"i32", 4, 32},
    {"i64", 8, 64},
    {"index", 8, 64},
    {"f8E4M3FN", 1, 8},
    {"f8E5M2", 1, 8},
    {"f16", 2, 16},
    {"bf16", 2, 16},
    {"tf32", 4, 19},
    {"f32", 4, 32},
    {"f64", 8, 64},
}};

const DTypeFacts& facts(DType d) { return kFacts[static_cast<std::size_t>(d)]; }

}  // namespace

int byte_size(DType d) { return facts(d).bytes; }
int bit_width(DType d) { return facts(d).bits; }
bool is_float(DType d) { return d >= DType::kF8E4M3FN; }
bool is_integer(DType d) { return d >= DType::kI1 && d <= DType::kIndex; }
std::string_view name(DType d) { return facts(d).name; }

DType dtype_named(std::string_view text) {
  for (std::size_t i = 1; i < kFacts.size(); ++i) {
    if (kFacts[i].name == text) return static_cast<DType>(i);
  }
  return DType::kNone;
}

}  // namespace xpusim::kernel
