// Kernels on systems of several chips, from the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(Systems, KernelsThatTalkHaveRightValuesAndConserveBytes) {
  for (const char* job :
       {"ring_all_gather_4.yaml --on tpu_v5e_4", "ring_all_gather_8.yaml --on tpu_v5e_8",
        "ring_all_gather_8.yaml --on tpu_v5e_8_ring", "ring_all_reduce_4.yaml --on tpu_v5e_4",
        "ring_all_reduce_8.yaml --on tpu_v5e_8_ring"}) {
    const std::string file = temporary("report.json", "");
    const auto r = xpusim("run workloads/pallas/" + std::string(job) + " --json '" + file + "'");
    ASSERT_EQ(r.exit_code, 0) << job << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(": right")) << job;
    EXPECT_THAT(r.out, HasSubstr("they only waited for each other")) << job;
    const json launch = json::parse(read_file(file))["launches"][0];
    double sent = 0, received = 0, crossed = 0, cycles = 0;
    for (const auto& chip : launch["chips"]) {
      sent += chip["sent_bytes"].get<double>();
      received += chip["received_bytes"].get<double>();
      EXPECT_LE(chip["cycles"].get<double>(), launch["cycles"].get<double>());
    }
    for (const auto& link : launch["network"]["links"]) {
      crossed += link["bytes"].get<double>();
      EXPECT_LE(link["busy"].get<double>(), 1.0);
    }
    for (const auto& [reason, n] : launch["ledger"]["tpu.core.issue"].items())
      cycles += n.get<double>();
    EXPECT_EQ(sent, received) << job;
    EXPECT_GE(crossed, sent) << job;
    EXPECT_EQ(cycles, launch["cycles"].get<double>() * static_cast<double>(launch["chips"].size()));
  }
}

/// A ring of neighbours never takes two links, so it is faster than the grid's order.
TEST(Systems, ARingOfNeighboursIsFaster) {
  const auto cycles = [](const char* on) {
    const std::string file = temporary("report.json", "");
    const auto r = xpusim("run workloads/pallas/ring_all_gather_8.yaml --values off --json '" +
                          file + "' --on " + on);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return json::parse(read_file(file))["launches"][0]["cycles"].get<double>();
  };
  EXPECT_LT(cycles("tpu_v5e_8_ring"), cycles("tpu_v5e_8"));
}

TEST(Systems, CollectivesRunBesideKernelsThatDoNotWaitForThem) {
  const std::string text = read_file(XPUSIM_SOURCE_DIR "/workloads/models/gradients_on_pod.yaml");
  std::string in_turn = text;
  for (std::size_t at = 0; (at = in_turn.find(", after: ", at)) != std::string::npos;)
    in_turn.erase(at, in_turn.find('}', at) - at);
  const auto total = [](std::string launch) {
    for (std::size_t at = 0; (at = launch.find("../pallas", at)) != std::string::npos; ++at)
      launch.replace(at, 9, XPUSIM_SOURCE_DIR "/workloads/pallas");
    const std::string file = temporary("report.json", "");
    const auto r = xpusim("run '" + temporary("launch.yaml", launch) +
                          "' --on tpu_v5e_pod --values off --json '" + file + "'");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return json::parse(read_file(file))["total"];
  };
  const json beside = total(text), apart = total(in_turn);
  const auto ns = [](const json& of, const char* what) {
    return of["communication"][what].get<double>();
  };
  EXPECT_EQ(ns(apart, "exposed_ns"), ns(apart, "duration_ns"));
  EXPECT_EQ(ns(beside, "duration_ns"), ns(apart, "duration_ns"));
  EXPECT_LT(ns(beside, "exposed_ns"), ns(beside, "duration_ns"));
  EXPECT_NEAR(
      beside["duration_ns"].get<double>() + ns(beside, "duration_ns") - ns(beside, "exposed_ns"),
      apart["duration_ns"].get<double>(), 1);
}

/// They are simulated as if each had the memory to itself, which a report says where it matters.
TEST(Systems, SayWhatLaunchesAtTheSameTimeWouldTakeFromEachOther) {
  const std::string file = temporary("report.json", "");
  const auto r =
      xpusim("run workloads/models/gradients_on_pod.yaml --on tpu_v5e_4x4 --values off --json '" +
             file + "'");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("at the same time, takes of the memory's bandwidth ("));
  int beside = 0;
  const json report = json::parse(read_file(file));
  for (const auto& launch : report["launches"])
    beside += launch["notes"].dump().find("at the same time") != std::string::npos ? 1 : 0;
  EXPECT_GE(beside, 4);  // two pairs of a collective and a kernel, but not the first kernel
  const auto alone = xpusim("run workloads/collectives/exchange.yaml --on dgx_h200 --values off");
  EXPECT_THAT(alone.out, Not(HasSubstr("at the same time")));
}

/// Kernels are judged by what was measured of their chip, collectives of their system.
TEST(Systems, TrustKernelsAsTheirChipsAndCollectivesAsTheirNetworks) {
  const auto trust_on = [](const std::string& job, const std::string& on) {
    const std::string file = temporary("report.json", "");
    const auto r = xpusim("run " + job + " --values off --on " + on + " --json '" + file + "'");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    const json launch = json::parse(read_file(file))["launches"].back();
    const json& error = launch["expected_error"];
    return error.is_null() ? "never" : error["source"].get<std::string>();
  };
  const std::string add = "workloads/triton/vector_add.yaml",
                    sum = "workloads/collectives/all_reduce.yaml";
  EXPECT_EQ(trust_on(add, "h200_x2"), "traces/correlation/h200.json");
  EXPECT_EQ(trust_on(sum, "h200_x2"), "traces/correlation/h200_x2.json");
  EXPECT_EQ(trust_on(add, "dgx_h200"), "traces/correlation/h200.json");
  EXPECT_EQ(trust_on(sum, "dgx_h200"), "never");
}

std::string kernel_with(const std::string& ops) {
  return temporary(
      "talk.mlir",
      "module attributes {stable_mosaic.version = 15 : i64} {\n"
      "  \"func.func\"() ({\n"
      "  ^bb0(%arg0: memref<8x128xf32, #tpu.memory_space<any>> loc(\"x_ref\"), %arg1: "
      "memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc(\"ready_sem\")):\n"
      "    %0 = \"arith.constant\"() {value = 1 : i32} : () -> i32\n"
      "    %1 = \"arith.constant\"() {value = 9 : i32} : () -> i32\n" +
          ops +
          "    \"func.return\"() : () -> ()\n"
          "  }) {dimension_semantics = [], function_type = (memref<8x128xf32, "
          "#tpu.memory_space<any>>, memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>) -> "
          "(), scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, sym_name = \"talk\", "
          "tpu.core_type = #tpu.core_type<tc>} : () -> ()\n}\n");
}

std::string launch_of(const std::string& kernel, const std::string& tensor) {
  return temporary("talk.yaml",
                   "schema: xpusim.workload/1\n"
                   "tensors:\n"
                   "  x: {dtype: f32, " +
                       tensor +
                       "}\n"
                       "launches:\n"
                       "  - {kernel: '" +
                       kernel + "', args: [x]}\n");
}

const std::string kSemaphore = " : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>\n";

TEST(Systems, ASignalThatNeverComesIsADeadlockByName) {
  const auto kernel = kernel_with("    tpu.sem_wait %arg1, %0" + kSemaphore);
  const auto r = xpusim("run '" + launch_of(kernel, "shape: [8, 128]") + "' --on tpu_v5e_4");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("tpu[3].core (1 of semaphore ready_sem, which holds 0, at "));
  EXPECT_THAT(r.err, HasSubstr("talk.mlir:6"));
}

TEST(Systems, ADeviceThatIsNotThereIsNamed) {
  const auto kernel = kernel_with("    tpu.sem_signal %arg1, %0 device_id %1" + kSemaphore);
  const auto launch = launch_of(kernel, "shape: [8, 128]");
  const auto r = xpusim("run '" + launch + "' --on tpu_v5e_4");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("on device 0: a signal to device 9: there are 4, from 0"));
  const auto alone = xpusim("run '" + launch + "' --on tpu_v5e");
  EXPECT_NE(alone.exit_code, 0);
  EXPECT_THAT(alone.err, HasSubstr("this goes to another chip, but the machine is one chip alone"));
}

TEST(Systems, TensorsThatCannotBeSharedAreNamed) {
  const auto kernel = kernel_with("");
  const auto uneven =
      xpusim("run '" + launch_of(kernel, "shape: [30, 128], shard: 0") + "' --on tpu_v5e_4");
  EXPECT_EQ(uneven.exit_code, 2);
  EXPECT_THAT(uneven.err, HasSubstr("4 chips cannot share its dimension 0 of 30 evenly"));
  const auto axis =
      xpusim("run '" + launch_of(kernel, "shape: [32, 128], shard: 2") + "' --on tpu_v5e_4");
  EXPECT_EQ(axis.exit_code, 2);
  EXPECT_THAT(axis.err, HasSubstr("shard is one of the 2 dimensions"));
  const auto fine =
      xpusim("run '" + launch_of(kernel, "shape: [8, 512], shard: 1") + "' --on tpu_v5e_4");
  EXPECT_EQ(fine.exit_code, 0) << fine.err;
}

TEST(Systems, GpusRunAKernelEachAlone) {
  const auto r = xpusim("run workloads/triton/vector_add.yaml --values off --on h200_x2");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("2, each alone; all do the same, so one was simulated"));
  const auto values = xpusim("run workloads/triton/softmax.yaml --on h200_x2");
  EXPECT_EQ(values.exit_code, 0) << values.err;
  EXPECT_THAT(values.out, HasSubstr("2, each alone\n"));
  EXPECT_THAT(values.out, HasSubstr(": right"));
}

/// A layer's kernels and collectives, one after another.
TEST(Systems, ATransformerLayerOnEightChipsHasRightValues) {
  for (const char* job :
       {"layer_on_8_gpus.yaml --on dgx_h200", "layer_on_8_tpus.yaml --on tpu_v5e_8"}) {
    const auto r = xpusim("run workloads/models/" + std::string(job));
    EXPECT_EQ(r.exit_code, 0) << job << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(": right")) << job;
    EXPECT_THAT(r.out, HasSubstr("of it only collectives")) << job;
  }
}

TEST(Systems, RingAttentionSeesTheKeysOfAllChips) {
  const auto r = xpusim("run workloads/models/ring_attention_4.yaml --on tpu_v5e_4");
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("check     o: right"));
  EXPECT_THAT(r.out, HasSubstr("run beside kernels"));
}

/// Device ids follow a ring, axes the grid: what a kernel leaves on a device is what a collective
/// finds there.
TEST(Systems, KernelsAndCollectivesMeanTheSameDevices) {
  const std::string launch =
      temporary("both.yaml",
                "schema: xpusim.workload/1\n"
                "tensors:\n"
                "  x: {dtype: f32, shape: [256, 1024], init: randn}\n"
                "  all: {dtype: f32, shape: [4, 256, 1024], init: zeros}\n"
                "  mine: {dtype: f32, shape: [256, 1024], init: zeros}\n"
                "launches:\n"
                "  - {kernel: " XPUSIM_SOURCE_DIR
                "/workloads/pallas/ir/ring_all_gather_4, args: [x, all]}\n"
                "  - {collective: permute, tensor: x, output: mine, axis: x}\n"
                "expect:\n"
                "  all: {reference: all_gather(x)}\n"
                "  mine: {reference: permute(x)}\n");
  for (const char* order : {"ring", "grid"}) {
    const auto r =
        xpusim("run '" + launch + "' --on tpu_v5e_4 --set system.order=" + std::string(order));
    EXPECT_EQ(r.exit_code, 0) << order << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr("check     mine: right")) << order;
  }
}

TEST(Systems, AWholePodRunsALayer) {
  const std::string file = temporary("report.json", "");
  const auto r = xpusim(
      "run workloads/models/layer_on_pod.yaml --on tpu_v5e_pod --values off --json '" + file + "'");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  for (const auto& launch : json::parse(read_file(file))["launches"]) {
    if (!launch.contains("chips")) continue;
    EXPECT_EQ(launch["chips"].size(), 256u);
    EXPECT_EQ(launch["simulated_chips"], 1);
    EXPECT_LT(launch["host"]["peak_rss_mb"].get<double>(), 4000);
  }
}

TEST(Systems, AreAskedForKernelsAsTheirChipsAre) {
  const auto check = xpusim("check workloads/pallas/ir/ring_all_gather_4.mlir --on tpu_v5e_4");
  EXPECT_THAT(check.out, HasSubstr("tpu_v5e_4      runs it"));
  const auto code = xpusim("explain workloads/pallas/ring_all_gather_4.yaml --on tpu_v5e_4");
  EXPECT_EQ(code.exit_code, 0) << code.err;
  EXPECT_THAT(code.out, HasSubstr("sync_wait_remote"));
}

/// Every figure that does not come from links is that of the chip alone.
TEST(Systems, ASystemOfOneChipIsThatChip) {
  const auto cycles = [](const std::string& on) {
    const std::string file = temporary("report.json", "");
    const auto r =
        xpusim("run workloads/pallas/softmax.yaml --values off --json '" + file + "' --on " + on);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return json::parse(read_file(file))["launches"][0]["cycles"].get<double>();
  };
  EXPECT_EQ(cycles("tpu_v5e_4 --set system.network.torus.x=1 --set system.network.torus.y=1"),
            cycles("tpu_v5e"));
  EXPECT_EQ(cycles("tpu_v5e_4"), cycles("tpu_v5e")) << "chips that do not talk do not wait";
}

}  // namespace
}  // namespace xpusim::e2e
