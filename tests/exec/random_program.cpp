#include "tests/exec/random_program.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {
namespace {

constexpr std::int64_t kElements =
    1024;  // of x; a power of two, so that any value can be cut to it

/// Reads choices from bytes; zeros after their end.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool done() const { return at_ >= bytes_.size(); }
  std::size_t below(std::size_t n) { return next() % n; }
  std::uint8_t next() { return done() ? 0 : bytes_[at_++]; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

/// Writes a program of one shape, rows x columns: i32 tiles and masks that combine each other.
class Writer {
 public:
  Writer(std::span<const std::uint8_t> bytes, bool dense) : choices_(bytes), dense_(dense) {
    rows_ = std::int64_t{1} << choices_.below(5);
    columns_ = std::int64_t{1} << choices_.below(6);
    tile_ = fmt::format("tensor<{}x{}xi32>", rows_, columns_);
    mask_ = fmt::format("tensor<{}x{}xi1>", rows_, columns_);
  }

  std::string write() {
    const std::string row = spread(range(rows_), rows_, 1),
                      column = spread(range(columns_), columns_, 0);
    integers_ = {row, column, value("tt.splat %n : i32 -> " + tile_)};
    masks_ = {value(fmt::format("arith.cmpi slt, {}, {} : {}", row, column, tile_))};
    for (int ops = 0; ops < 24 && !choices_.done(); ++ops) op();
    const std::string width = constant(columns_);
    const std::string first = value(fmt::format("arith.muli {}, {} : {}", row, width, tile_));
    const std::string linear = value(fmt::format("arith.addi {}, {} : {}", first, column, tile_));
    const std::string to = pointers("%out", linear);
    line(fmt::format("tt.store {}, {}, {} : {}", to, integers_.back(), masks_.back(),
                     pointer_tile()));
    return "module {\n  tt.func public @k(%iota: !tt.ptr<i32>, %x: !tt.ptr<i32>, %out: "
           "!tt.ptr<i32>, %n: i32) {\n" +
           text_ + "    tt.return\n  }\n}\n";
  }

 private:
  void line(const std::string& s) { text_ += "    " + s + "\n"; }
  std::string value(const std::string& s) {
    const std::string name = fmt::format("%v{}", count_++);
    line(name + " = " + s);
    return name;
  }
  std::string pointer_tile() const {
    return fmt::format("tensor<{}x{}x!tt.ptr<i32>>", rows_, columns_);
  }

  std::string range(std::int64_t n) {
    const std::string type = fmt::format("tensor<{}xi32>", n);
    const std::string r =
        value(fmt::format("tt.make_range {{end = {} : i32, start = 0 : i32}} : {}", n, type));
    if (!dense_) return r;
    const std::string base = fmt::format("tensor<{}x!tt.ptr<i32>>", n);
    const std::string p = value("tt.splat %iota : !tt.ptr<i32> -> " + base);
    const std::string q = value(fmt::format("tt.addptr {}, {} : {}, {}", p, r, base, type));
    return value(fmt::format("tt.load {} : {}", q, base));
  }
  std::string spread(const std::string& v, std::int64_t n, int axis) {
    const std::string thin =
        axis == 1 ? fmt::format("tensor<{}x1xi32>", n) : fmt::format("tensor<1x{}xi32>", n);
    const std::string e = value(fmt::format(
        "tt.expand_dims {} {{axis = {} : i32}} : tensor<{}xi32> -> {}", v, axis, n, thin));
    return value(fmt::format("tt.broadcast {} : {} -> {}", e, thin, tile_));
  }
  std::string constant(std::int64_t v) {
    return value(fmt::format("arith.constant dense<{}> : {}", v, tile_));
  }
  std::string pointers(const std::string& base, const std::string& offsets) {
    const std::string p =
        value(fmt::format("tt.splat {} : !tt.ptr<i32> -> {}", base, pointer_tile()));
    return value(fmt::format("tt.addptr {}, {} : {}, {}", p, offsets, pointer_tile(), tile_));
  }
  const std::string& integer() { return integers_[choices_.below(integers_.size())]; }
  const std::string& mask() { return masks_[choices_.below(masks_.size())]; }

  void op() {
    static constexpr std::array kBinary = {"addi",  "subi",  "muli", "divsi", "remsi", "divui",
                                           "remui", "andi",  "ori",  "xori",  "minsi", "maxsi",
                                           "minui", "maxui", "shli", "shrsi", "shrui"};
    static constexpr std::array kPredicates = {"eq",  "ne",  "slt", "sle", "sgt",
                                               "sge", "ult", "ule", "ugt", "uge"};
    static constexpr std::array kLogic = {"andi", "ori", "xori"};
    switch (choices_.below(8)) {
      case 0: {
        static constexpr std::array<std::int64_t, 14> kNumbers = {
            0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 100, -1, -8, 2147483647};
        integers_.push_back(constant(kNumbers[choices_.below(kNumbers.size())]));
        return;
      }
      case 1:
      case 2: {
        const std::size_t k = choices_.below(kBinary.size());
        const std::string a = integer();
        std::string b = integer();
        if (k >= 14) b = value(fmt::format("arith.andi {}, {} : {}", b, constant(31), tile_));
        integers_.push_back(value(fmt::format("arith.{} {}, {} : {}", kBinary[k], a, b, tile_)));
        return;
      }
      case 3: {
        const std::string p = kPredicates[choices_.below(kPredicates.size())], a = integer();
        masks_.push_back(value(fmt::format("arith.cmpi {}, {}, {} : {}", p, a, integer(), tile_)));
        return;
      }
      case 4: {
        const std::string l = kLogic[choices_.below(kLogic.size())], a = mask();
        masks_.push_back(value(fmt::format("arith.{} {}, {} : {}", l, a, mask(), mask_)));
        return;
      }
      case 5: {
        const std::string m = mask(), a = integer();
        integers_.push_back(
            value(fmt::format("arith.select {}, {}, {} : {}, {}", m, a, integer(), mask_, tile_)));
        return;
      }
      case 6:
        return turn();
      default:
        return gather();
    }
  }

  /// The same elements in another order: as columns x rows, and that transposed.
  void turn() {
    const std::string other = fmt::format("tensor<{}x{}xi32>", columns_, rows_);
    const std::string r = value(fmt::format("tt.reshape {} : {} -> {}", integer(), tile_, other));
    integers_.push_back(
        value(fmt::format("tt.trans {} {{order = array<i32: 1, 0>}} : {} -> {}", r, other, tile_)));
  }

  /// Elements of x at addresses that a value picks, where a mask is true.
  void gather() {
    const std::string at =
        value(fmt::format("arith.andi {}, {} : {}", integer(), constant(kElements - 1), tile_));
    const std::string p = pointers("%x", at), m = mask();
    integers_.push_back(
        value(fmt::format("tt.load {}, {}, {} : {}", p, m, integer(), pointer_tile())));
  }

  Choices choices_;
  bool dense_;
  std::int64_t rows_, columns_;
  std::string tile_, mask_, text_;
  std::vector<std::string> integers_, masks_;
  int count_ = 0;
};

struct Outcome {
  std::string error;
  std::vector<double> out;
};

Outcome run_form(std::span<const std::uint8_t> bytes, bool dense, bool values) {
  const auto module = read_kernel_text(random_program(bytes, dense));
  if (!module) return {"the program does not read", {}};
  KernelRun k(module);
  Init arange, seeds;
  arange.kind = Init::Kind::kArange;
  seeds.kind = Init::Kind::kRandint;
  seeds.value = 1 << 20;
  k.tensor("iota", DType::kI32, {64}, arange);
  k.tensor("x", DType::kI32, {kElements}, seeds);
  k.tensor("out", DType::kI32, {kElements}, arange);
  k.integer("n", 37);
  if (!k.run({1, 1, 1}, values)) return {k.error.message, {}};
  return {"", k.values("out")};
}

}  // namespace

std::string random_program(std::span<const std::uint8_t> bytes, bool dense) {
  return Writer(bytes, dense).write();
}

std::string difference_of_forms(std::span<const std::uint8_t> bytes) {
  const Outcome compact = run_form(bytes, false, true);
  if (!compact.error.empty()) return "it fails: " + compact.error;
  for (const bool dense : {true, false}) {
    const Outcome other = run_form(bytes, dense, dense);
    const std::string what = dense ? "dense tiles" : "no values";
    if (!other.error.empty()) return "with " + what + " it fails: " + other.error;
    for (std::size_t i = 0; i < other.out.size(); ++i) {
      if (other.out[i] != compact.out[i]) {
        return fmt::format("element {} is {} with compact tiles, {} with {}", i, compact.out[i],
                           other.out[i], what);
      }
    }
  }
  return "";
}

}  // namespace xpusim::exec
