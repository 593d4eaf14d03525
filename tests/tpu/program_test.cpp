// The text form of bundle programs: does it hold everything, and what does it say of a wrong text?

#include <gmock/gmock.h>

#include "models/tpu/program/program.h"

namespace xpusim::tpu {
namespace {

using ::testing::HasSubstr;

constexpr const char* kText = R"(program "tiny \"kernel\""
buffer "x" input bytes 4096 copies 2
buffer "o" output bytes 4096 copies 2
line "kernel.py" 3 5
line "" 0 0
{ dma.fetch 0 } @1
{ grid } @1
{ dma.fetch 0 ahead 1; s3 = sadd s1, s2 } @1
{ wait.in 0 } @1
{ loop 8 } @0
{ v0 = vld [0 3 1 0]; m2 = vcmp:f32 v1, v2 } @0
{ v63 = vsel:f32 m2, v0, v1; vst masked v63 [1 0 1 64]; endloop } @0
{ if 4 } @0
{ v1 = vpow2:bf16 v0 } @0
{ else } @0
{ endif } @0
{ endgrid } @1
{ drain 1 } @1
{ halt } @1
)";

TEST(BundleProgram, IsReadAgainAsItWasPrinted) {
  const auto program = parse_program(kText, "t");
  ASSERT_TRUE(program) << program.error().str();
  const std::string printed = print(*program);
  const auto again = parse_program(printed, "t");
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(print(*again), printed);
  EXPECT_EQ(again->code, program->code);
  EXPECT_EQ(again->bundles, program->bundles);
  EXPECT_EQ(again->buffers, program->buffers);
  EXPECT_EQ(again->name, "tiny \"kernel\"");
}

TEST(BundleProgram, KnowsWhereItsLoopsEnd) {
  const auto program = parse_program(kText, "t");
  ASSERT_TRUE(program);
  const auto target = [&](std::size_t bundle) {
    const Bundle& b = program->bundles[bundle];
    return program->code[b.first + b.count - 1].target;
  };
  EXPECT_EQ(target(4), 6);   // loop to endloop
  EXPECT_EQ(target(6), 4);   // and back
  EXPECT_EQ(target(7), 9);   // if to else
  EXPECT_EQ(target(9), 10);  // else to endif
  EXPECT_EQ(target(1), 11);  // grid to endgrid
}

std::string problem_of(const std::string& bundle) {
  const auto program = parse_program(
      "program \"p\"\nbuffer \"x\" input bytes 4096 copies 1\nline \"\" 0 0\n" + bundle + "\n",
      "f");
  return program ? "" : program.error().str();
}

TEST(BundleProgram, SaysWhatIsWrongWithAText) {
  EXPECT_THAT(problem_of("{ vad v0 } @0"), HasSubstr("f:4:6: error: unknown instruction 'vad'"));
  EXPECT_THAT(problem_of("{ vad v0 } @0"), HasSubstr("did you mean 'vadd'"));
  EXPECT_THAT(problem_of("{ v0 = vadd v1, v2 } @7"), HasSubstr("names no line 7"));
  EXPECT_THAT(problem_of("{ v0 = vld [3 0 0 0] } @0"), HasSubstr("3 is not in 0 .. 0"));
  EXPECT_THAT(problem_of("{ v0 = vld } @0"), HasSubstr("'vld' needs an address"));
  EXPECT_THAT(problem_of("{ v64 = vadd v1, v2 } @0"), HasSubstr("unknown instruction 'v64'"));
  EXPECT_THAT(problem_of("{ loop 4 } @0"), HasSubstr("'loop' has no end"));
  EXPECT_THAT(problem_of("{ endloop } @0"), HasSubstr("'endloop' closes nothing"));
  EXPECT_THAT(problem_of("{ loop 4 } @0\n{ endgrid } @0"), HasSubstr("'endgrid' closes nothing"));
  EXPECT_THAT(problem_of("{ v0 = vadd:f99 v1 } @0"), HasSubstr("unknown element type 'f99'"));
  EXPECT_THAT(problem_of("{ halt } @0 halt"), HasSubstr("left over"));
  EXPECT_THAT(problem_of("what"), HasSubstr("expected 'program', 'buffer', 'line'"));
  EXPECT_THAT(problem_of("buffer \"y\" glass bytes 1 copies 1"), HasSubstr("a buffer is 'input'"));
  EXPECT_FALSE(parse_program("", "f"));
}

}  // namespace
}  // namespace xpusim::tpu
