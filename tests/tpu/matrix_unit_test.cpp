// The matrix unit: is its time that of the array it stands for, and are the array's values those of
// a product?

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "models/tpu/core/issue.h"
#include "models/tpu/core/systolic_array.h"
#include "sim/exec/dense.h"
#include "sim/exec/product.h"

namespace xpusim::tpu {
namespace {

/// A unit of `size` that takes a row a cycle, of rows as of weights.
CoreParams small_core(std::int64_t size) {
  CoreParams core;
  core.mxu.count = 1;
  core.mxu.size = size;
  core.mxu.rows_per_cycle = 1;
  core.mxu.push_rows_per_cycle = 1;
  core.mxu.pop = 2;
  return core;
}

struct Ran {
  Cycle cycles = 0;
  std::vector<Cycle> issued;  ///< each bundle
  Activity activity{1};
};

/// Issues a program's bundles one after the other.
Ran run(const CoreParams& core, const std::string& bundles) {
  auto program = parse_program("program \"p\"\nline \"k.py\" 1 1\n" + bundles, "test");
  EXPECT_TRUE(program) << (program ? "" : program.error().str());
  IssueState state(core);
  Ran r;
  for (const Bundle& b : program->bundles) {
    r.cycles = state.issue(*program, b, r.cycles, r.activity);
    r.issued.push_back(r.cycles - 1);
  }
  EXPECT_EQ(r.activity.all_cycles(), r.cycles);
  return r;
}

using ::testing::ElementsAre;

// 4 x 4, one tile of weights, 8 rows: the push begins in cycle 0 and takes 4 (a row of weights a
// cycle), so the first row enters in cycle 4 and the last in 11. That one passes 4 rows of elements
// and 3 more columns: element (3, 3) works on it in 11 + 3 + 3 = 17, and the result can be popped
// in
// 18. Two cycles later it is in its register.
TEST(MatrixUnit, FillsAndDrainsA4x4Array) {
  const Ran r = run(small_core(4),
                    "{ vmatpush:f32 mxu0.0 v0 } @0\n{ vmatmul:f32 mxu0.0 v1 } @0\n"
                    "{ v2 = vpop mxu0 } @0\n{ v3 = vadd:f32 v2, v2 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 4, 18, 20));
  EXPECT_EQ(r.activity.cycles(Reason::kLmrReserved), 3);     // 1, 2, 3
  EXPECT_EQ(r.activity.cycles(Reason::kMrbResultWait), 14);  // 5 to 17, and 19
  EXPECT_EQ(r.activity.cycles(Reason::kIssued), 4);
  EXPECT_EQ(r.activity.matrix(MatrixWork::kBusyCycles), 8);
}

// 8 x 8: 8 rows of weights take 8 cycles; 8 rows enter in 8 to 15; the last result of the last row
// leaves element (7, 7) in 15 + 7 + 7 = 29 and can be popped in 30.
TEST(MatrixUnit, FillsAndDrainsAn8x8Array) {
  const Ran r = run(small_core(8),
                    "{ vmatpush:f32 mxu0.0 v0 } @0\n{ vmatmul:f32 mxu0.0 v1 } @0\n"
                    "{ v2 = vpop mxu0 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 8, 30));
}

// Rows back to back over the same weights: a register of 8 rows every 8 cycles, and as often a
// result, 8 - 1 + 4 + 4 - 1 = 14 cycles later.
TEST(MatrixUnit, TakesRowsBackToBack) {
  const Ran r = run(small_core(4),
                    "{ vmatpush:f32 mxu0.0 v0 } @0\n{ vmatmul:f32 mxu0.0 v1 } @0\n"
                    "{ vmatmul:f32 mxu0.0 v2 } @0\n{ v4 = vpop mxu0; vmatmul:f32 mxu0.0 v3 } @0\n"
                    "{ v5 = vpop mxu0 } @0\n{ v6 = vpop mxu0 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 4, 12, 20, 26, 34));
  EXPECT_EQ(r.activity.cycles(Reason::kMatmulPathReserved), 7 + 7);
}

// Two tiles of weights: the second is pushed into the other set while rows pass over the first (5
// to 8), so its rows follow without a gap, in 12. A third tile can take the place of the first once
// the first one's rows are in: from 12 on; its bundle comes in 13, its weights are there in 17, its
// rows wait for those of the second tile, until 20.
TEST(MatrixUnit, ChangesWeightsWithoutAGap) {
  const Ran r = run(small_core(4),
                    "{ vmatpush:f32 mxu0.0 v0 } @0\n{ vmatmul:f32 mxu0.0 v1 } @0\n"
                    "{ vmatpush:f32 mxu0.1 v2 } @0\n{ vmatmul:f32 mxu0.1 v3 } @0\n"
                    "{ vmatpush:f32 mxu0.0 v4 } @0\n{ vmatmul:f32 mxu0.0 v5 } @0\n"
                    "{ v6 = vpop mxu0 } @0\n{ v7 = vpop mxu0 } @0\n{ v8 = vpop mxu0 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 4, 5, 12, 13, 20, 21, 26, 34));
}

// With one set the next weights wait until the rows are in (4 to 11), and the next rows until the
// weights are there: 12 + 4.
TEST(MatrixUnit, ReplacesWeightsInUseOnlyAfterTheirRows) {
  const Ran r = run(small_core(4),
                    "{ vmatpush:f32 mxu0.0 v0 } @0\n{ vmatmul:f32 mxu0.0 v1 } @0\n"
                    "{ vmatpush:f32 mxu0.0 v2 } @0\n{ vmatmul:f32 mxu0.0 v3 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 4, 12, 16));
  EXPECT_EQ(r.activity.cycles(Reason::kMsrReservedForLgmr), 7);
}

// 8 x 8 with weights of three tiles for 8 rows each: a push takes 8 cycles and so do the rows, so
// pushes and rows go side by side: pushes in 0, 8, 16; rows in 8, 16, 24.
TEST(MatrixUnit, KeepsWeightsAndRowsSideBySide) {
  const Ran r = run(small_core(8),
                    "{ vmatpush:f32 mxu0.0 v0 } @0\n"
                    "{ vmatpush:f32 mxu0.1 v1; vmatmul:f32 mxu0.0 v4 } @0\n"
                    "{ vmatpush:f32 mxu0.0 v2; vmatmul:f32 mxu0.1 v4 } @0\n"
                    "{ vmatmul:f32 mxu0.0 v4 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 8, 16, 24));
}

// 256 columns are two registers of results a row; 2 rows a cycle: 8 rows enter in t to t + 3; the
// first 128 columns are there in t + 3 + 256 + 127, the rest 128 cycles later.
TEST(MatrixUnit, GivesTheFirstColumnsFirst) {
  CoreParams core = small_core(256);
  core.mxu.rows_per_cycle = 2;
  const Ran r = run(core,
                    "{ vmatmul:bf16 mxu0.0 v0, v1 } @0\n{ v2 = vpop mxu0 } @0\n"
                    "{ v3 = vpop mxu0 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 3 + 256 + 127, 3 + 256 + 255));
}

// An 8-bit register holds 32 rows: at 4 a cycle they take 8 cycles and give 4 results.
TEST(MatrixUnit, TakesFourTimesAsManyRowsOf8Bits) {
  CoreParams core = small_core(8);
  core.mxu.rows_per_cycle_8bit = 4;
  const Ran r = run(core,
                    "{ vmatmul:i8 mxu0.0 v0 } @0\n{ vmatmul:i8 mxu0.0 v0 } @0\n"
                    "{ v1 = vpop mxu0 } @0\n{ v1 = vpop mxu0 } @0\n{ v1 = vpop mxu0 } @0\n"
                    "{ v1 = vpop mxu0 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 8, 1 + 15, 3 + 15, 5 + 15, 7 + 15));
}

// f8 at 2 rows a cycle: 32 rows take 16.
TEST(MatrixUnit, TakesF8AtARateOfItsOwn) {
  CoreParams core = small_core(8);
  core.mxu.rows_per_cycle_8bit = 4;
  core.mxu.rows_per_cycle_f8 = 2;
  const Ran r = run(core, "{ vmatmul:f8 mxu0.0 v0 } @0\n{ vmatmul:i8 mxu0.0 v0 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 16));
}

// Kept sums are no results; those of the last rows are, when the last of 8 rows (in cycle 8 + 7)
// has passed 8 rows and 8 columns.
TEST(MatrixUnit, GivesWhatItAccumulatedOnce) {
  const Ran r = run(small_core(8),
                    "{ vmatmul:bf16 keep mxu0.0 v0 } @0\n{ vmatmul:bf16 mxu0.0 v0 } @0\n"
                    "{ v1 = vpop mxu0 } @0\n");
  EXPECT_THAT(r.issued, ElementsAre(0, 8, 8 + 7 + 15));
}

TEST(MatrixUnit, GoesOnAfterASnapshotAsBefore) {
  const MatrixParams mxu = small_core(8).mxu;
  MatrixUnit a(mxu), b(mxu);
  Instruction i;
  i.element = Element::kF32;
  a.push(i, 100);
  a.multiply(i, 110);
  a.multiply(i, 118);
  a.pop();
  std::vector<std::uint32_t> state;
  a.snapshot(120, state);
  EXPECT_EQ(b.restore(state.data(), 1120), state.data() + state.size());
  EXPECT_EQ(b.result_ready(), a.result_ready() + 1000);
  EXPECT_EQ(b.path_free(), a.path_free() + 1000);
  EXPECT_EQ(b.results(), 1u);
}

using Matrix = std::vector<std::vector<float>>;

Matrix random_matrix(std::int64_t rows, std::int64_t cols, std::mt19937& random, bool whole) {
  Matrix m(static_cast<std::size_t>(rows), std::vector<float>(static_cast<std::size_t>(cols)));
  std::uniform_int_distribution<int> integer(-9, 9);
  std::normal_distribution<float> real;
  for (auto& row : m) {
    for (float& x : row) x = whole ? static_cast<float>(integer(random)) : real(random);
  }
  return m;
}

exec::Tile tile_of(const Matrix& m) {
  exec::Tile t;
  t.shape = {static_cast<std::int64_t>(m.size()), static_cast<std::int64_t>(m[0].size())};
  t.dtype = exec::DType::kF32;
  auto* to = reinterpret_cast<float*>(exec::dense_storage(t));
  for (const auto& row : m) to = std::copy(row.begin(), row.end(), to);
  return t;
}

/// What the executor, and so the simulator, takes for the product.
Matrix product_of(const Matrix& a, const Matrix& b) {
  Matrix zero(a.size(), std::vector<float>(b[0].size(), 0));
  const exec::Tile lhs = tile_of(a), rhs = tile_of(b), acc = tile_of(zero);
  exec::Tile out;
  out.shape = acc.shape;
  out.dtype = exec::DType::kF32;
  exec::product(lhs, rhs, acc, {}, out);
  std::vector<float> flat(static_cast<std::size_t>(out.count()));
  exec::read_floats(out, 0, out.count(), flat.data());
  for (std::size_t r = 0; r < zero.size(); ++r) {
    std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(r * zero[r].size()), zero[r].size(),
                zero[r].begin());
  }
  return zero;
}

struct ArrayRun {
  Matrix values;
  std::vector<std::uint64_t> last_cycle;  ///< of each row: its last column can be read
};

/// All rows over tiles of weights, each a matrix; tile t uses set t % 2, and its rows follow those
/// of the one before at once. The result is that of all rows after each other.
ArrayRun run_array(std::int64_t size, std::int64_t lanes, const Matrix& a,
                   const std::vector<Matrix>& tiles) {
  SystolicArray array(size, lanes);
  ArrayRun run;
  run.values.assign(a.size() * tiles.size(), std::vector<float>(static_cast<std::size_t>(size)));
  run.last_cycle.assign(run.values.size(), 0);
  std::size_t left = run.values.size() * static_cast<std::size_t>(size), entered = 0;
  const auto together = static_cast<std::size_t>(lanes);
  while (left > 0) {
    const std::size_t t = entered / a.size(), row = entered % a.size();
    if (t < tiles.size()) {
      if (row == 0) {
        for (std::int64_t k = 0; k < size; ++k) {
          array.set_weights(static_cast<int>(t % 2), k, tiles[t][static_cast<std::size_t>(k)]);
        }
      }
      array.enter(std::span(a).subspan(row, together), static_cast<int>(t % 2));
      entered += together;
    }
    array.step();
    for (const SystolicArray::Result& r : array.results()) {
      const auto at = static_cast<std::size_t>(r.row);
      run.values[at][static_cast<std::size_t>(r.column)] = r.value;
      run.last_cycle[at] = std::max(run.last_cycle[at], r.cycle);
      --left;
    }
  }
  return run;
}

TEST(SystolicArray, GivesTheProductOfWholeNumbersExactly) {
  std::mt19937 random(1);
  for (std::int64_t size : {1, 4, 8, 16}) {
    const Matrix a = random_matrix(8, size, random, true),
                 w = random_matrix(size, size, random, true);
    EXPECT_EQ(run_array(size, 1, a, {w}).values, product_of(a, w)) << size;
  }
}

TEST(SystolicArray, GivesTheProductOfRealNumbersUpToRounding) {
  std::mt19937 random(2);
  const Matrix a = random_matrix(16, 32, random, false), w = random_matrix(32, 32, random, false);
  const Matrix got = run_array(32, 2, a, {w}).values, want = product_of(a, w);
  for (std::size_t r = 0; r < want.size(); ++r) {
    EXPECT_THAT(got[r], ::testing::Pointwise(::testing::FloatNear(1e-5f), want[r])) << r;
  }
}

TEST(SystolicArray, ChangesWeightsBetweenRowsThatFollowAtOnce) {
  std::mt19937 random(3);
  const Matrix a = random_matrix(8, 4, random, true), w0 = random_matrix(4, 4, random, true),
               w1 = random_matrix(4, 4, random, true);
  const Matrix got = run_array(4, 1, a, {w0, w1}).values;
  const Matrix first = product_of(a, w0), second = product_of(a, w1);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), got.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), got.begin() + 8));
}

// The unit's formula is the array's: for every register of rows, its results can be popped in the
// cycle in which the array's last element of its last row can be read.
TEST(SystolicArray, IsWhatTheUnitsTimeComesFrom) {
  std::mt19937 random(4);
  for (std::int64_t size : {4, 8, 32}) {
    for (std::int64_t lanes : {1, 2, 4}) {
      MatrixParams mxu = small_core(size).mxu;
      mxu.rows_per_cycle = lanes;
      MatrixUnit unit(mxu);
      const Matrix a = random_matrix(24, size, random, true),
                   w = random_matrix(size, size, random, true);
      const ArrayRun array = run_array(size, lanes, a, {w});
      Instruction i;
      i.element = Element::kF32;
      for (std::size_t block = 0; block < 3; ++block) {
        unit.multiply(i, unit.path_free());
        EXPECT_EQ(unit.result_ready(), array.last_cycle[8 * block + 7]) << size << " " << lanes;
        unit.pop();
      }
    }
  }
}

// After two cycles the row [1 2 3 4] has its first element in (0, 1) and its second in (1, 0):
// 1 * w(0,1), and 1 * w(0,0) + 2 * w(1,0).
TEST(SystolicArray, ShowsWhatEveryElementHolds) {
  SystolicArray array(4, 1);
  for (std::int64_t k = 0; k < 4; ++k) {
    const float w = static_cast<float>(10 * k);
    array.set_weights(0, k, std::vector<float>{w, w + 1, w + 2, w + 3});
  }
  array.enter(std::vector<std::vector<float>>{{1, 2, 3, 4}}, 0);
  array.step();
  EXPECT_EQ(array.element(0, 0).activation, 1);
  array.step();
  EXPECT_EQ(array.element(0, 1).activation, 1);
  EXPECT_EQ(array.element(0, 1).sum, 1 * 1);
  EXPECT_EQ(array.element(1, 0).activation, 2);
  EXPECT_EQ(array.element(1, 0).sum, 1 * 0 + 2 * 10);
  EXPECT_EQ(array.element(1, 0).weight, 10);
  EXPECT_EQ(array.element(0, 0).row, -1);  // nothing follows
  EXPECT_EQ(array.element(3, 3).row, -1);  // and it is not there yet
}

}  // namespace
}  // namespace xpusim::tpu
