// The page of `view`: that it is there, whole and right, and needs nothing else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/e2e/command.h"

namespace xpusim::e2e {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const std::string kLessons = XPUSIM_SOURCE_DIR "/workloads/lessons/";

const std::string& page_path() {
  static const std::string path = temporary("view.html", "");
  return path;
}

Result view(const std::string& workload, const std::string& more = "") {
  return xpusim("view '" + workload + "' --out '" + page_path() + "' " +
                (more.find("--on ") == std::string::npos ? "--on h200 " : "") + more);
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  if (from == std::string::npos) return "";
  return text.substr(from + begin.size(), text.find(end, from) - from - begin.size());
}

json data_of(const std::string& page) {
  return json::parse(between(page, "<script id=\"data\" type=\"application/json\">", "</script>"));
}

/// A page of a small launch, made once.
const std::string& page() {
  static const std::string text = [] {
    const Result r = view(kLessons + "transpose_conflicts.yaml", "--set gpu.sm.count=1");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("SM 0 of 1, cycles "));
    return read_file(page_path());
  }();
  return text;
}

std::uint64_t sum_of(const json& list, const char* key) {
  std::uint64_t sum = 0;
  for (const auto& e : list) sum += e[key].get<std::uint64_t>();
  return sum;
}

TEST(View, EveryWarpsStatesSumUpToTheCyclesShown) {
  const json data = data_of(page());
  const json& recording = data["recording"];
  const std::uint64_t shown =
      recording["end_cycle"].get<std::uint64_t>() - recording["first_cycle"].get<std::uint64_t>();
  EXPECT_GT(shown, 0u);
  EXPECT_GT(recording["slots"].size(), 4u);
  for (const auto& slot : recording["slots"]) {
    std::uint64_t cycles = 0;
    const auto& spans = slot["spans"];
    ASSERT_EQ(spans.size() % 3, 0u);
    for (std::size_t i = 0; i < spans.size(); i += 3) {
      cycles += spans[i].get<std::uint64_t>();
      ASSERT_LT(spans[i + 1].get<std::size_t>(), recording["states"].size());
      ASSERT_LT(spans[i + 2].get<int>(), static_cast<int>(recording["code"].size()));
    }
    EXPECT_EQ(cycles, shown);
  }
}

TEST(View, SectorsAndInstructionsOfTheOnlySmAreTheCounters) {
  const json data = data_of(page());
  const json& counters = data["report"]["counters"];
  EXPECT_EQ(sum_of(data["recording"]["accesses"], "sectors"),
            counters["l1_sectors_global_load"].get<std::uint64_t>() +
                counters["l1_sectors_global_store"].get<std::uint64_t>());
  EXPECT_EQ(sum_of(data["recording"]["code"], "issued"),
            counters["warp_instructions"].get<std::uint64_t>());
  std::uint64_t wavefronts = 0;
  for (const auto& s : data["recording"]["shared"])
    wavefronts += s["executions"].get<std::uint64_t>() * s["charged"].get<std::uint64_t>();
  EXPECT_GT(wavefronts, 0u);
  EXPECT_LE(wavefronts, counters["shared_wavefronts"].get<std::uint64_t>());
}

TEST(View, AColumnOfAnUnswizzledTileLiesInOneBank) {
  const json data = data_of(page());
  int columns = 0;
  for (const auto& s : data["recording"]["shared"]) {
    const bool reads = s["map"]["wavefronts"].size() == 32;
    EXPECT_EQ(s["charged"], s["map"]["wavefronts"].size());
    EXPECT_EQ(s["least"], 1);
    if (!reads) continue;
    ++columns;
    const auto bank = s["map"]["wavefronts"][0][0][0];
    for (const auto& wavefront : s["map"]["wavefronts"]) {
      ASSERT_EQ(wavefront.size(), 1u);
      EXPECT_EQ(wavefront[0][0], bank);
    }
  }
  EXPECT_GE(columns, 1);
  const Result r = view(kLessons + "transpose_swizzled.yaml", "--set gpu.sm.count=1");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json swizzled = data_of(read_file(page_path()));
  EXPECT_FALSE(swizzled["recording"]["shared"].empty());
  for (const auto& s : swizzled["recording"]["shared"])
    EXPECT_EQ(s["map"]["wavefronts"].size(), 1u);
}

TEST(View, ThePageLoadsNothing) {
  const std::string script = between(page(), "<script>", "</script>");
  const std::string style = between(page(), "<style>", "</style>");
  EXPECT_FALSE(script.empty());
  EXPECT_FALSE(style.empty());
  for (const char* mark : {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest",
                           "importScripts", "@TITLE@", "@DATA@"})
    EXPECT_EQ(page().find(mark), std::string::npos) << mark;
}

TEST(View, RecordingDoesNotChangeTheRun) {
  const std::string file = temporary("view.json", "");
  const auto report = [&](const std::string& verb, const std::string& arguments) {
    const Result r = xpusim(verb + " '" + kLessons + arguments + " --json '" + file + "'");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    json j = json::parse(read_file(file));
    for (auto& launch : j["launches"]) launch.erase("host");
    return j["launches"];
  };
  for (const char* of : {"transpose_conflicts.yaml' --on h200 --set gpu.sm.count=2",
                         "matmul_small_blocks.yaml' --on tpu_v5e"}) {
    EXPECT_EQ(report("run", of), report("view --out '" + page_path() + "'", of));
  }
}

TEST(View, TheSameRunGivesTheSamePage) {
  const std::string first = page();
  ASSERT_EQ(view(kLessons + "transpose_conflicts.yaml", "--set gpu.sm.count=1").exit_code, 0);
  EXPECT_EQ(read_file(page_path()), first);
}

TEST(View, AWindowIsTheCyclesAskedFor) {
  const Result r = view(kLessons + "transpose_conflicts.yaml",
                        "--set gpu.sm.count=4 --sm 3 --at 2500 --cycles 100");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("SM 3 of 4, cycles 2500 to 2600 of "));
}

/// The data of a page of a small product on a TPU, made once.
const json& product() {
  static const json data = [] {
    const Result r = view(kLessons + "matmul_small_blocks.yaml", "--on tpu_v5e --cycles 1000000");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("core 0 of 1, cycles "));
    return data_of(read_file(page_path()));
  }();
  return data;
}

TEST(View, TheCyclesOfATpusCoreAreItsLedger) {
  const json& recording = product()["recording"];
  std::map<std::string, std::uint64_t> cycles;
  const auto& spans = recording["bundles"]["spans"];
  for (std::size_t i = 0; i < spans.size(); i += 3) {
    ASSERT_LT(spans[i + 2].get<int>(), static_cast<int>(recording["code"].size()));
    cycles[recording["states"][spans[i + 1].get<std::size_t>()]["name"]] +=
        spans[i].get<std::uint64_t>();
  }
  EXPECT_FALSE(cycles.contains("launch"));  // it is before the first bundle, where the page begins
  std::uint64_t shown = 0, all = 0;
  for (const auto& [reason, n] : product()["report"]["ledger"]["tpu.core.issue"].items()) {
    if (reason == "launch") continue;
    all += n.get<std::uint64_t>();
    if (!recording["cut"].get<bool>()) {
      EXPECT_EQ(cycles[reason], n.get<std::uint64_t>()) << reason;
    }
  }
  for (const auto& [reason, n] : cycles) shown += n;
  EXPECT_LE(shown, all);
  EXPECT_EQ(shown, recording["end_cycle"].get<std::uint64_t>() -
                       recording["first_cycle"].get<std::uint64_t>());
}

TEST(View, AWindowShorterThanATpusLaunchShowsItsFirstBundles) {
  const Result r = view(kLessons + "matmul_small_blocks.yaml", "--on tpu_v5e --cycles 100");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json data = data_of(read_file(page_path()));
  const json& recording = data["recording"];
  const auto first = recording["first_cycle"].get<std::uint64_t>();
  EXPECT_EQ(first, data["report"]["ledger"]["tpu.core.issue"]["launch"].get<std::uint64_t>());
  EXPECT_EQ(recording["end_cycle"].get<std::uint64_t>(), first + 100);
  const auto& spans = recording["bundles"]["spans"];
  std::uint64_t shown = 0;
  for (std::size_t i = 0; i < spans.size(); i += 3) {
    EXPECT_GT(spans[i].get<std::uint64_t>(), 0u);
    shown += spans[i].get<std::uint64_t>();
  }
  EXPECT_EQ(shown, 100u);
}

TEST(View, TheDmasOfATpusCoreMoveWhatTheCountersSay) {
  const json& dma = product()["recording"]["dma"];
  std::uint64_t bytes = 0;
  for (const auto& t : dma["transfers"]) bytes += t[3].get<std::uint64_t>();
  EXPECT_EQ(bytes, product()["report"]["counters"]["dma_bytes"].get<std::uint64_t>());
  EXPECT_EQ(dma["steps"].size(), 512u);
  EXPECT_EQ(dma["windows"].size(), 3u);
  for (const auto& w : dma["windows"]) EXPECT_EQ(w["copies"].size(), 2u);
}

TEST(View, ATpusPageHasRealNumbersInItsMatrixUnit) {
  const json& matrix = product()["recording"]["matrix"];
  ASSERT_FALSE(matrix.contains("missing")) << matrix["missing"];
  EXPECT_EQ(matrix["size"], 128);
  EXPECT_EQ(matrix["weights"].size(), 128u * 128);
  EXPECT_EQ(matrix["pushes"].size(), 16u);
}

TEST(View, WithoutValuesAMatrixUnitIsNotPlayed) {
  const Result r =
      view(kLessons + "matmul_small_blocks.yaml", "--on tpu_v5e --values off --cycles 3000");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json data = data_of(read_file(page_path()));
  EXPECT_THAT(data["recording"]["matrix"]["missing"].get<std::string>(),
              HasSubstr("without values"));
}

TEST(View, ASecondCopyOfAWindowHidesTheDma) {
  const auto waits = [](const std::string& lesson) {
    const Result r = view(kLessons + lesson + ".yaml", "--on tpu_v5e --values off --cycles 2000");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    const json data = data_of(read_file(page_path()));
    const json& cycles = data["report"]["ledger"]["tpu.core.issue"];
    return std::pair(data["recording"]["dma"]["windows"][0]["copies"].size(),
                     cycles.value("sync_wait_input", 0) + cycles.value("sync_wait_output", 0));
  };
  const auto [one, waited_one] = waits("softmax_single_buffer");
  const auto [two, waited_two] = waits("softmax_double_buffer");
  EXPECT_EQ(one, 1u);
  EXPECT_EQ(two, 2u);
  EXPECT_LT(waited_two, waited_one);
}

void expect_refused(const Result& r, const std::string& message) {
  EXPECT_EQ(r.exit_code, 2) << r.out;
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr(message));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

TEST(View, WrongInputGetsOneMessageAndLeavesNoPage) {
  const std::string lesson = kLessons + "transpose_conflicts.yaml";
  page_path();  // makes the file
  temporary("view.html", "as it was");
  expect_refused(view(lesson, "--sm 132"), "there is no SM 132: h200 has 132, from 0");
  expect_refused(view(lesson, "--launch 2"), "there is no launch 2: transpose_conflicts has 1");
  expect_refused(view(lesson, "--at 999999"), "SM 0 does nothing at cycle 999999 or later");
  expect_refused(view(lesson, "--cycles 0"), "--cycles");
  expect_refused(view(lesson, "--on roofline_h200"),
                 "the roofline machines record nothing that can be viewed");
  const std::string product = kLessons + "matmul_small_blocks.yaml";
  expect_refused(view(product, "--on tpu_v5e --core 1"),
                 "there is no core 1: tpu_v5e runs this launch on 1, from 0");
  expect_refused(view(product, "--on tpu_v5e --at 99999999"),
                 "the core does nothing at cycle 99999999 or later");
  expect_refused(xpusim("view '" + lesson + "' --on h200 --on h200 --out x.html"),
                 "view takes one machine");
  expect_refused(xpusim("view '" + lesson + "' --on h200 --out /nowhere/x.html"),
                 "/nowhere/x.html");
  EXPECT_EQ(read_file(page_path()), "as it was");
}

}  // namespace
}  // namespace xpusim::e2e
