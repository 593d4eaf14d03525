#include "models/tpu/recording.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "models/tpu/matrix_recording.h"
#include "sim/run/recorded_lines.h"

namespace xpusim::tpu {
namespace {

using Json = nlohmann::ordered_json;
using Cycles = std::optional<Cycle>;

constexpr std::size_t kStates = static_cast<std::size_t>(CopyState::Kind::kCount);

Json states() {
  Json list = Json::array();
  for (std::size_t r = 0; r < kReasons; ++r) {
    const auto reason = static_cast<Reason>(r);
    list.push_back({{"name", name(reason)}, {"meaning", meaning(reason)}});
  }
  return list;
}

Json copy_states() {
  Json list = Json::array();
  for (std::size_t k = 0; k < kStates; ++k) {
    const auto kind = static_cast<CopyState::Kind>(k);
    list.push_back({{"name", name(kind)}, {"meaning", meaning(kind)}});
  }
  return list;
}

Json lanes(const SlotParams& slots) {
  Json list = Json::array();
  for (std::size_t s = 0; s < kSlots; ++s) {
    const auto slot = static_cast<Slot>(s);
    list.push_back({{"slot", name(slot)}, {"count", slot_count(slots, slot)}});
  }
  return list;
}

/// The bundles that the window shows, numbered in the order of the program.
std::map<std::uint32_t, std::size_t> shown_bundles(const CoreRecorder& recorder) {
  std::map<std::uint32_t, std::size_t> shown;
  for (const auto& s : recorder.spans()) {
    if (s.bundle != CoreRecorder::kNoBundle) shown.emplace(s.bundle, 0);
  }
  std::size_t n = 0;
  for (auto& [bundle, number] : shown) number = n++;
  return shown;
}

/// A bundle's instructions by slot: {text, line, slots: [slot of the first, ...]}.
Json code(const Program& program, const std::map<std::uint32_t, std::size_t>& shown) {
  Json list = Json::array();
  for (const auto& [number, n] : shown) {
    const Bundle& b = program.bundles[number];
    std::string text;
    Json slots = Json::array(), ops = Json::array();
    for (std::uint32_t k = 0; k < b.count; ++k) {
      const Instruction& i = program.code[b.first + k];
      text += (k ? "; " : "") + print(i);
      slots.push_back(static_cast<int>(info(i.op).slot));
      ops.push_back(info(i.op).name);
    }
    list.push_back({{"bundle", number},
                    {"text", text},
                    {"line", b.line},
                    {"slots", std::move(slots)},
                    {"ops", std::move(ops)}});
  }
  return list;
}

Json spans(const CoreRecorder& recorder, const std::map<std::uint32_t, std::size_t>& shown) {
  Json list = Json::array();
  Cycle from = recorder.first();
  for (const auto& s : recorder.spans()) {
    list.push_back(s.until - from);
    list.push_back(static_cast<int>(s.state));
    list.push_back(s.bundle == CoreRecorder::kNoBundle ? Json(-1) : Json(shown.at(s.bundle)));
    from = s.until;
  }
  return list;
}

Json cycle(const Cycles& c) { return c ? Json(*c) : Json(nullptr); }

Json steps(const CoreRecorder& recorder) {
  Json list = Json::array();
  for (const auto& s : recorder.steps()) {
    list.push_back({{"number", s.number},
                    {"index", s.index},
                    {"begin", s.begin},
                    {"body", cycle(s.body)},
                    {"body_end", cycle(s.body_end)}});
  }
  return list;
}

const char* whom(Descriptor::For f) {
  switch (f) {
    case Descriptor::For::kWindow:
      return "window";
    case Descriptor::For::kSemaphore:
      return "semaphore";
    default:
      return "stream";
  }
}

/// Where a block lies in the grid of blocks; [] where it has no such place.
Json block(const WindowSet& set, std::uint32_t window, const BlockIndex& index) {
  return set.spec(window).map->names_blocks() ? Json(index) : Json::array();
}

Json dmas(const CoreRecorder& recorder, const WindowSet& set) {
  Json list = Json::array();
  for (const auto& d : recorder.dmas()) {
    const bool window = d.whom == Descriptor::For::kWindow;
    list.push_back({{"for", whom(d.whom)},
                    {"number", d.number},
                    {"copy", d.slot},
                    {"block", window ? block(set, d.number, d.block) : Json::array()},
                    {"engine", d.engine},
                    {"write", d.write},
                    {"bytes", d.bytes},
                    {"runs", d.runs},
                    {"at", Json::array({cycle(d.issued), cycle(d.taken), cycle(d.begun),
                                        cycle(d.sent), cycle(d.done), cycle(d.seen)})}});
  }
  return list;
}

Json waits(const CoreRecorder& recorder) {
  Json list = Json::array();
  for (const auto& w : recorder.waits()) {
    list.push_back(Json::array({w.from, w.until, static_cast<int>(w.reason), w.line}));
  }
  return list;
}

Json windows(const CoreRecorder& recorder, const Recorded& of) {
  const WindowSet& set = *of.launch.cores[of.core].windows;
  Json list = Json::array();
  for (std::uint32_t w = 0; w < set.size(); ++w) {
    Json copies = Json::array();
    for (std::uint32_t c = 0; c < set.copies(w); ++c) {
      Json states = Json::array();
      if (w < recorder.copies().size()) {
        for (const auto& s : recorder.copies()[w][c]) {
          if (s.from >= recorder.events_end()) break;
          states.push_back(s.from);
          states.push_back(static_cast<int>(s.state.kind));
          states.push_back(block(set, w, s.state.block));
        }
      }
      copies.push_back(std::move(states));
    }
    list.push_back({{"name", set.name(w)},
                    {"output", set.spec(w).output},
                    {"bytes", of.launch.program.buffers[w].bytes},
                    {"copies", std::move(copies)}});
  }
  return list;
}

}  // namespace

std::string to_json(const CoreRecorder& recorder, const Recorded& of) {
  const Program& program = of.launch.program;
  const auto shown = shown_bundles(recorder);
  Json all{
      {"schema", "xpusim.tpu_recording/1"},
      {"unit", {{"name", "core"}, {"number", of.core}, {"of", of.launch.cores.size()}}},
      {"charged", "core"},
      {"first_cycle", recorder.first()},
      {"end_cycle", recorder.end()},
      {"cut", recorder.is_cut()},
      {"kernel", program.name},
      {"kernel_file", of.module.file},
      {"states", states()},
      {"code", code(program, shown)},
      {"lines", run::recorded_lines(program.lines, of.module)},
      {"bundles",
       {{"all", program.bundles.size()},
        {"lanes", lanes(of.params.core.slots)},
        {"spans", spans(recorder, shown)}}},
      {"dma",
       {{"from", recorder.events_from()},
        {"end", recorder.events_end()},
        {"engines", of.params.dma.engines},
        {"grid_steps", of.launch.cores[of.core].windows->steps()},
        {"vmem_bytes", program.vmem_bytes()},
        {"states", copy_states()},
        {"steps", steps(recorder)},
        {"waits", waits(recorder)},
        {"transfers", dmas(recorder, *of.launch.cores[of.core].windows)},
        {"windows", windows(recorder, of)}}},
  };
  if (uses_matrix_units(program)) {
    all["matrix"] = matrix_recording(recorder, of.product, program, of.params.core.mxu, of.values);
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);  // names may be any bytes
}

}  // namespace xpusim::tpu
