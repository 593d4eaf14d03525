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

/// The slot of each kind of instruction that occurs.
Json operations(const Program& program) {
  Json slots = Json::object();
  for (const Instruction& i : program.code) {
    slots[std::string(info(i.op).name)] = static_cast<int>(info(i.op).slot);
  }
  return slots;
}

Json code(const Program& program, const std::map<std::uint32_t, std::size_t>& shown) {
  Json list = Json::array();
  for (const auto& [number, n] : shown) {
    const Bundle& b = program.bundles[number];
    std::string text;
    for (std::uint32_t k = 0; k < b.count; ++k) {
      text += (k ? "; " : "") + print(program.code[b.first + k]);
    }
    list.push_back({{"bundle", number}, {"text", text}, {"line", b.line}});
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

/// [number, begin, body, end of the body, index in each dimension of the grid, ...].
Json steps(const CoreRecorder& recorder) {
  Json list = Json::array();
  for (const auto& s : recorder.steps()) {
    Json step = {s.number, s.begin, cycle(s.body), cycle(s.body_end)};
    for (const std::int64_t index : s.index) step.push_back(index);
    list.push_back(std::move(step));
  }
  return list;
}

/// Where a block lies in the grid of blocks; [] where it has no such place.
Json block(const WindowSet& set, std::uint32_t window, const BlockIndex& index) {
  return set.spec(window).map->names_blocks() ? Json(index) : Json::array();
}

/// Of each: the number of its window (those of streams come after those of the grid's windows, -1:
/// a copy that the kernel started itself), its copy, the engine, whether it writes, bytes, pieces,
/// the block, and the cycles [issued, taken by the engine, begun, last request, done, seen].
Json dmas(const CoreRecorder& recorder, const WindowSet& set) {
  Json list = Json::array();
  for (const auto& d : recorder.dmas()) {
    const bool window = d.whom == Descriptor::For::kWindow;
    const bool stream = d.whom == Descriptor::For::kStream;
    const auto number = static_cast<std::int64_t>(d.number);
    Json place = window   ? block(set, d.number, d.block)
                 : stream ? Json::array({d.slot})
                          : Json::array();
    list.push_back(Json::array({window   ? number
                                : stream ? number + static_cast<std::int64_t>(set.size())
                                         : -1,
                                d.engine, d.write, d.bytes, d.runs, std::move(place),
                                Json::array({cycle(d.issued), cycle(d.taken), cycle(d.begun),
                                             cycle(d.sent), cycle(d.done), cycle(d.seen)})}));
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

/// What a copy held, as [cycle, state, block, ...]; `set`: of a window of the grid.
Json copy_spans(const std::vector<CoreRecorder::CopySpan>& spans, Cycle end, const WindowSet* set,
                std::uint32_t window) {
  Json list = Json::array();
  for (const auto& s : spans) {
    if (s.from >= end) break;
    list.push_back(s.from);
    list.push_back(static_cast<int>(s.state.kind));
    list.push_back(set ? block(*set, window, s.state.block) : Json(s.state.block));
  }
  return list;
}

/// The grid's windows, then the buffers of streams.
Json windows(const CoreRecorder& recorder, const Recorded& of) {
  const PreparedLaunch::Core& core = of.launch.cores[of.core];
  const auto entry = [](const std::string& name, bool output, std::int64_t bytes, Json copies) {
    return Json{
        {"name", name}, {"output", output}, {"bytes", bytes}, {"copies", std::move(copies)}};
  };
  Json list = Json::array();
  for (std::uint32_t w = 0; w < recorder.copies().size(); ++w) {
    Json copies = Json::array();
    for (const auto& spans : recorder.copies()[w]) {
      copies.push_back(copy_spans(spans, recorder.events_end(), core.windows.get(), w));
    }
    const WindowSpec& spec = core.windows->spec(w);
    list.push_back(entry(spec.name, spec.output, spec.bytes, std::move(copies)));
  }
  for (std::uint32_t s = 0; s < recorder.stream_copies().size(); ++s) {
    Json copies = Json::array();
    for (const auto& spans : recorder.stream_copies()[s]) {
      copies.push_back(copy_spans(spans, recorder.events_end(), nullptr, 0));
    }
    const Buffer& buffer = of.launch.program.buffers[core.body->stream_buffer(s)];
    list.push_back(
        entry(buffer.name, core.body->stream_is_output(s), buffer.bytes, std::move(copies)));
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
        {"operations", operations(program)},
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
