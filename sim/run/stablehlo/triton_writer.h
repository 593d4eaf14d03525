#pragma once

// Writes the lines of a Triton function.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/run/stablehlo/graph.h"

namespace xpusim::run {

/// The text of one kernel while it is written. Values are SSA names with their '%'; tiles have one
/// dimension of the kernel's block but where a product is made.
class TritonWriter {
 public:
  TritonWriter(const HloGraph& graph, const HloKernel& kernel, const TileSizes& tiles)
      : graph_(graph), kernel_(kernel), tiles_(tiles) {}
  Expected<std::string> run();

 private:
  void header();
  void elementwise();
  void rows();
  void rest();
  void dot();
  /// A product's sizes, and which of each factor's last two dimensions is summed over.
  struct Product {
    std::int64_t left = -1, right = -1, m = 0, n = 0, k = 0;
  };
  std::optional<Product> product();  ///< says why not
  std::string steps(const Product& p, const std::string& rm, const std::string& rn,
                    const std::string& batch);
  std::string indices(const std::string& block, std::int64_t size);
  /// A block of a matrix of rows x cols elements: where its rows and columns are.
  struct Factor {
    std::size_t operand;
    std::string row_index, col_index;
    std::int64_t block_rows, block_cols, rows, cols, row_stride, col_stride;
    std::string batch;  ///< which of the matrices that lie one after the other; "": the only one
  };
  std::pair<std::string, std::string> places(const Factor& f, const std::string& base,
                                             const std::string& element);
  std::string factor(const Factor& f);

  /// The value of the module's `v` at the flat offsets `at`, as a tile.
  std::string tile_of(const kernel::Value& v, const std::string& at);
  std::string broadcast(const kernel::Op& op, const std::string& at);
  std::string transposed(const kernel::Op& op, const std::string& at);
  std::string compute(const kernel::Op& op, const std::string& at);
  std::string convert(const kernel::Op& op, const std::string& in);
  std::string load(const kernel::Value& v, const std::string& at);
  /// Offsets into an operand of the strides, for offsets into a result of `shape`.
  std::string mapped(const std::vector<std::int64_t>& shape,
                     const std::vector<std::int64_t>& strides, const std::string& at);
  std::string reduced(const std::string& tile);
  void store_number(const std::string& value, const std::string& at);

  template <class... Args>
  std::string let(fmt::format_string<Args...> format, Args&&... args) {
    std::string name = fmt::format("%{}", count_++);
    line("{} = {}", name, fmt::format(format, std::forward<Args>(args)...));
    return name;
  }
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format("{:{}}", "", indent_);
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += place_;
    text_ += '\n';
  }
  void at_op(const kernel::Op& op);
  std::string number(double value, kernel::DType dtype, const std::string& type);
  std::string integers(std::int64_t value) {  ///< a tile of them
    return let("arith.constant dense<{}> : {}", value, tile("i32"));
  }
  std::string tile(std::string_view element) const {
    return fmt::format("tensor<{}x{}>", kernel_.block, element);
  }
  static std::string element(const kernel::Value& v) {
    return std::string(kernel::name(v.type->dtype));
  }
  const kernel::Value& result() const { return *kernel_.root->result(); }
  void refuse(const kernel::Op& op, std::string why) {
    problems_.error(op.line(), fmt::format("'{}': {}", op.name(), why));
  }

  const HloGraph& graph_;
  const HloKernel& kernel_;
  const TileSizes& tiles_;
  std::map<std::pair<const kernel::Value*, std::string>, std::string> made_;
  std::string text_, place_, mask_;
  int count_ = 0, indent_ = 4;
  Diagnostics problems_;
};

}  // namespace xpusim::run
