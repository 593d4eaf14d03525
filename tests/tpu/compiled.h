#pragma once

// Small Mosaic kernels as text, and what the compiler makes of them.

#include <string>

#include "tests/tpu/harness.h"

namespace xpusim::tpu::test {

/// Doubles %x of a kernel_text.
inline constexpr const char* kDouble =
    "    %r = \"arith.addf\"(%x, %x) {fastmath = #arith.fastmath<none>} : "
    "(vector<ROWSxCOLSxTYPE>, vector<ROWSxCOLSxTYPE>) -> vector<ROWSxCOLSxTYPE>\n";

/// A kernel of one step on one input and one output block: `body` computes %r from %x. ROWS, COLS
/// and TYPE in it are replaced.
std::string kernel_text(const std::string& body, int rows, int cols, const std::string& type);

std::string replaced(std::string text, const std::string& what, const std::string& with);

struct Compiled {
  std::string text;  ///< of the program
  std::string problems;
};
Compiled compile_text(const std::string& text, const TpuParams& params);

/// The body's bundles: what stands between `body` and the write-back's scalar work.
std::string body_of(const std::string& program);
/// A program without the numbers of its lines.
std::string without_lines(std::string text);
std::size_t occurrences(const std::string& text, const std::string& word);

}  // namespace xpusim::tpu::test
