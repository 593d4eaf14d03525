// Wrong input gets one clear message with its position and exit code 2; a kernel that breaks, 1.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using testing::HasSubstr;

/// A launch of vector_add with one piece of its text replaced.
std::string launch(const std::string& from = "", const std::string& to = "",
                   const std::string& kernel = "") {
  std::string text = R"y(schema: xpusim.workload/1
tensors:
  x: {dtype: f32, shape: [4096], init: randn}
  y: {dtype: f32, shape: [4096], init: randn}
  out: {dtype: f32, shape: [4096], init: zeros}
launches:
  - kernel: KERNEL
    grid: ["cdiv(n, BLOCK)"]
    constexprs: {BLOCK: 1024}
    args: {x_ptr: x, y_ptr: y, out_ptr: out, n: 4096}
)y";
  if (!from.empty()) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  const std::string name = "KERNEL";
  if (const auto at = text.find(name); at != std::string::npos)
    text.replace(
        at, name.size(),
        kernel.empty() ? XPUSIM_SOURCE_DIR "/workloads/triton/ir/vector_add_9450e7f62b" : kernel);
  return temporary("launch.yaml", text);
}

Result run(const std::string& workload, const std::string& machine = "h200",
           const std::string& more = "") {
  return xpusim("run '" + workload + "' --on '" + machine + "' " + more);
}

/// Exactly one line of complaint, of this form.
void expect_one_message(const Result& r, int exit_code, const std::string& fragment) {
  EXPECT_EQ(r.exit_code, exit_code) << r.out << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("error: "));
  EXPECT_THAT(r.err, HasSubstr(fragment));
  EXPECT_EQ(r.out, "");
}

std::string machine(const std::string& body) {
  return temporary("chip.yaml", "schema: xpusim.machine/1\nname: chip\nextends: " XPUSIM_SOURCE_DIR
                                "/configs/gpu/h200.yaml\n" +
                                    body);
}

std::string kernel_text() {
  return read_file(XPUSIM_SOURCE_DIR "/workloads/triton/ir/vector_add_9450e7f62b.ttgir");
}

TEST(WrongInput, TheUnchangedLaunchIsFine) {
  const auto r = run(launch());
  EXPECT_EQ(r.exit_code, 0) << r.err;
}
TEST(WrongInput, BadYamlKey) {
  const auto r = run(launch(), machine("gpu:\n  sm:\n    cuont: 4\n"));
  expect_one_message(r, 2, "did you mean 'count'?");
  EXPECT_THAT(r.err, HasSubstr("chip.yaml:6:5:"));
}
TEST(WrongInput, BadUnit) {
  const auto r = run(launch(), machine("gpu:\n  clock: 1.98 GB\n"));
  expect_one_message(r, 2, "gpu.clock");
  EXPECT_THAT(r.err, HasSubstr("chip.yaml:5:10:"));
}
TEST(WrongInput, MissingTensor) {
  expect_one_message(run(launch("y_ptr: y", "y_ptr: z")), 2, "no tensor 'z'");
}
TEST(WrongInput, TruncatedIr) {
  const auto text = kernel_text();
  const auto file = temporary("cut.ttgir", text.substr(0, text.find("tt.store") + 12));
  const auto r = run(launch("", "", file));
  expect_one_message(r, 2, "expected");
  EXPECT_THAT(r.err, HasSubstr("cut.ttgir:"));
}
TEST(WrongInput, UnknownOp) {
  auto text = kernel_text();
  text.replace(text.find("arith.addf"), 10, "arith.adff");
  const auto r = run(launch("", "", temporary("unknown.ttgir", text)));
  expect_one_message(r, 2, "unknown op 'arith.adff'; did you mean 'arith.addf'?");
}
TEST(WrongInput, WrongDtype) {
  expect_one_message(run(launch("y: {dtype: f32", "y: {dtype: bf16")), 2,
                     "'y_ptr' wants f32, tensor 'y' is bf16");
}
TEST(WrongInput, NegativeGrid) {
  expect_one_message(run(launch("\"cdiv(n, BLOCK)\"", "\"0 - 4\"")), 2,
                     "grid dimension '0 - 4' is -4");
}
TEST(WrongInput, CyclicExtends) {
  temporary("a.yaml", "schema: xpusim.machine/1\nextends: b\n");
  temporary("b.yaml", "schema: xpusim.machine/1\nextends: a\n");
  const auto r = run(launch(), temporary("a.yaml", "schema: xpusim.machine/1\nextends: b\n"));
  expect_one_message(r, 2, "a.yaml");
}
TEST(WrongInput, UnreadableFile) {
  expect_one_message(run("/no/such/launch.yaml"), 2, "cannot open");
}
TEST(WrongInput, OutOfBoundsKernelEndsTheRun) {
  const auto r = run(launch("y: {dtype: f32, shape: [4096]", "y: {dtype: f32, shape: [4000]"));
  expect_one_message(r, 1, "kernels.py:12");
  EXPECT_THAT(r.err, HasSubstr("'y'"));
}
TEST(WrongInput, MissingArgument) { expect_one_message(run(launch(", n: 4096", "")), 2, "'n'"); }
TEST(WrongInput, UnknownArgument) {
  expect_one_message(run(launch("n: 4096", "n: 4096, m: 3")), 2, "has no parameter 'm'");
}
TEST(WrongInput, BrokenDivisibility) {
  expect_one_message(run(launch("n: 4096", "n: 4090")), 2, "compiled as divisible by 16");
}
TEST(WrongInput, ContradictedWarps) {
  expect_one_message(run(launch("    args", "    num_warps: 8\n    args")), 2, "compiled for 4");
}
TEST(WrongInput, UnknownMachine) {
  expect_one_message(run(launch(), "h20"), 2, "did you mean 'h200'?");
}
TEST(WrongInput, TooLargeForTheDevice) {
  expect_one_message(
      run(launch("x: {dtype: f32, shape: [4096]", "x: {dtype: f32, shape: [100000000000]")), 2,
      "'x'");
}
TEST(WrongInput, ATpuKernelOnAGpu) {
  const auto r = run(launch("", "", XPUSIM_SOURCE_DIR "/workloads/pallas/ir/add.mlir"));
  expect_one_message(r, 2, "do not take");
}
TEST(WrongInput, AnUnsupportedOpIsNamed) {
  const auto r = run(launch("", "", XPUSIM_SOURCE_DIR "/workloads/triton/ir/matmul_bc2e0095b8"));
  EXPECT_NE(r.exit_code, 0);
  EXPECT_THAT(r.err, HasSubstr("error: "));
}
TEST(WrongInput, AnUnsupportedOpIsNamedWithItsLine) {
  auto text = kernel_text();
  text.replace(text.find("arith.addf"), 10, "arith.remf");
  const auto r = run(launch("", "", temporary("remf.ttgir", text)));
  expect_one_message(r, 2, "cannot run this kernel: arith.remf (kernels.py:13");
}
TEST(WrongInput, ParametersThatDoNotFitEachOtherHaveAPosition) {
  const auto r = run(launch(), machine("gpu:\n  memory:\n    hbm:\n      refresh: perbank\n"));
  expect_one_message(r, 2, "did you mean 'per_bank'?");
  EXPECT_THAT(r.err, HasSubstr("chip.yaml:7:16: error: gpu.memory.hbm.refresh"));
  const auto rows = run(launch(), "h200",
                        "--set 'gpu.memory.hbm.timing.rfc=2 us' --set "
                        "'gpu.memory.hbm.timing.refi=1.9 us' --set "
                        "gpu.memory.hbm.refresh=none");
  expect_one_message(rows, 2, "--set: error: gpu.memory.hbm.timing.rfc");
}
TEST(WrongInput, TilesOf16BitElementsHave8Or16Rows) {
  const std::string add = XPUSIM_SOURCE_DIR "/workloads/pallas/add.yaml";
  expect_one_message(run(add, "tpu_v5e", "--set tpu.core.rows_16bit=12"), 2,
                     "--set: error: tpu.core.rows_16bit: a tile of 16-bit elements has 8 rows or "
                     "16, not 12");
}
TEST(WrongInput, AProductWhoseFactorsDoNotFitEachOther) {
  std::string text =
      read_file(XPUSIM_SOURCE_DIR "/workloads/lessons/ir/dense_layer.stablehlo.mlir");
  const std::string dims = "contracting_dims = [1] x [0]";
  text.replace(text.find(dims), dims.size(), "contracting_dims = [1] x [1]");
  const std::string workload =
      temporary("product.yaml",
                "schema: xpusim.workload/1\ntensors: {x: {dtype: f32, shape: [8]}}\nlaunches:\n  - "
                "kernel: '" +
                    temporary("product.stablehlo.mlir", text) + "'\n    args: [x]\n");
  for (const char* machine : {"h200", "tpu_v5e"}) {
    const auto r = run(workload, machine);
    expect_one_message(r, 2,
                       "'stablehlo.dot_general' has contracting dimensions that differ: 1 of "
                       "[512, 1024] and 1 of [1024, 768]");
    EXPECT_THAT(r.err, HasSubstr("product.stablehlo.mlir:3:10: error: "));
  }
}
TEST(WrongInput, AMachinesNameIsAText) {
  expect_one_message(run(launch(), temporary("list.yaml",
                                             "schema: xpusim.machine/1\nname: [a]\n"
                                             "roofline: {}\n")),
                     2, "a machine's name is a text");
}
TEST(WrongInput, AGridOfTooManyPrograms) {
  expect_one_message(run(launch("\"cdiv(n, BLOCK)\"", "2147483647, 2147483647, 2147483647")), 2,
                     "at most 2^40");
}
TEST(WrongInput, ArgumentsOfATritonKernelGoByName) {
  expect_one_message(
      run(launch("{x_ptr: x, y_ptr: y, out_ptr: out, n: 4096}", "[x, y, out, 4096]")), 2,
      "go by name");
}
TEST(WrongInput, AKernelForNoKnownFamily) {
  expect_one_message(run(launch("- kernel: KERNEL", "- kernel: {gpu: KERNEL, tppu: x}")), 2,
                     "did you mean 'tpu'?");
}
TEST(WrongInput, NamesThatAreNotUtf8InAKernelDoNotEndTheRun) {
  auto text = kernel_text();
  text.replace(text.find("kernels.py"), 1, "\xa5");
  EXPECT_EQ(run(launch("", "", temporary("bytes.ttgir", text))).exit_code, 0);
}
TEST(WrongInput, OutputsThatCannotBeWrittenAreSaidBeforeTheRun) {
  expect_one_message(run(launch(), "h200", "--json /no/such/folder/r.json"), 2,
                     "there is no folder");
  expect_one_message(run(launch(), "h200", "--json /tmp"), 2, "this is a folder");
  expect_one_message(run(launch(), "h200", "--json " + temporary("out.ttir", "module {}")), 2,
                     "which runs read");
  expect_one_message(run(launch(), "h200", "--json ''"), 2, "--json");
  expect_one_message(run(launch(), "h200", "--json /tmp/x.pftrace --trace /tmp/x.pftrace"), 2,
                     "cannot be one file");
  expect_one_message(run(launch(), "h200", "--dump out=/no/such/folder/o.npy"), 2,
                     "there is no folder");
  expect_one_message(run(launch(), "h200", "--dump nothing=/tmp/x.npy"), 2,
                     "no tensor 'nothing' in the workload");
}
TEST(WrongInput, AFullStandardOutputIsAFailure) {
  EXPECT_EQ(run(launch(), "h200", ">/dev/full; echo exit code $?").out, "exit code 1\n");
}
TEST(WrongInput, CasesThatAreAFolder) {
  expect_one_message(xpusim("correlate /tmp --on h200"), 2, "this is a folder");
}
TEST(WrongInput, TheWorkloadMayFollowTheOptions) {
  EXPECT_EQ(xpusim("run --set gpu.sm.count=8 --on h200 '" + launch() + "'").exit_code, 0);
  const auto r = xpusim("rum x.yaml");
  expect_one_message(r, 2, "command line: error: no verb 'rum'; did you mean 'run'?");
}
TEST(WrongInput, UnknownVerbAndOption) {
  EXPECT_EQ(xpusim("rum x.yaml").exit_code, 2);
  EXPECT_EQ(xpusim("run workloads/triton/relu.yaml --on h200 --valus off").exit_code, 2);
  EXPECT_EQ(xpusim("run workloads/triton/relu.yaml --on h200 --values maybe").exit_code, 2);
  EXPECT_EQ(xpusim("").exit_code, 2);
  EXPECT_EQ(xpusim("--help").exit_code, 0);
}
TEST(WrongInput, ABadOverrideSaysSo) {
  expect_one_message(run(launch(), "h200", "--set gpu.sm.count=-3"), 2, "--set");
  expect_one_message(run(launch(), "h200", "--set gpu.sm.cout=3"), 2, "did you mean 'count'?");
}
TEST(WrongInput, ATraceOfAnUnknownKind) {
  expect_one_message(run(launch(), "h200", "--trace /tmp/xpusim_e2e.trace"), 2, ".pftrace");
}

/// A Mosaic kernel of the project with a piece of its text replaced, launched on tensors.
std::string mosaic(const std::string& kernel, const std::string& from, const std::string& to,
                   const std::string& tensors, const std::string& args) {
  std::string text = read_file(XPUSIM_SOURCE_DIR "/workloads/pallas/" + kernel + ".mlir");
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  const std::string file = temporary("changed.mlir", text);
  return temporary("mosaic.yaml", "schema: xpusim.workload/1\nname: changed\ntensors:\n" + tensors +
                                      "launches:\n  - kernel: '" + file + "'\n    args: " + args +
                                      "\n");
}

TEST(WrongKernel, AWaitThatNeverEndsNamesItsSemaphoreAndLine) {
  const auto r = run(mosaic("language/ir/semaphores", "value = 3 : i32", "value = 1 : i32",
                            "  x: {dtype: f32, shape: [8, 128], init: randn}\n"
                            "  o: {dtype: f32, shape: [8, 128], init: zeros}\n",
                            "[x, o]"),
                     "tpu_v6e");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err,
              HasSubstr("kernels.py:216:4: error: deadlock: it waits for 2 of semaphore sem, "
                        "which holds 1"));
}

TEST(WrongKernel, OperandsThatDoNotFitSmemAreRefused) {
  const auto r = run(mosaic("ir/gather_blocks", "", "",
                            "  index: {dtype: i32, shape: [256], init: zeros}\n"
                            "  x: {dtype: f32, shape: [8192, 1024], init: randn}\n"
                            "  o: {dtype: f32, shape: [2048, 1024], init: zeros}\n",
                            "[index, x, o]"),
                     "tpu_v3", "--set tpu.smem.bytes='512 B'");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("its operands need 1 KiB of SMEM, the core has 512 B"));
}

TEST(WrongKernel, WindowsThatDoNotFitVmemAreNamed) {
  const auto r = run(XPUSIM_SOURCE_DIR "/workloads/pallas/mul_add_relu.yaml", "tpu_v3",
                     "--set tpu.vmem.bytes='4 MiB'");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("its buffers need 16 MiB of VMEM, the core has 4 MiB; the largest: "
                               "x_ref 2 x 2 MiB, w_ref 2 x 2 MiB"));
}

}  // namespace
}  // namespace xpusim::e2e
