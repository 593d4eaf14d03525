#include "sim/run/child_run.h"

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

/// In the child: the report on its way to the parent.
Expected<std::string> packed_report(const ChildWork& work) {
  auto report = run_workload(*work.workload, *work.settings);
  if (!report) return fail(report.error());
  bool wrong = false;
  for (const auto& c : report->checks) wrong |= !c.right;
  return Json{{"text", to_text(*report)},
              {"json", to_json(*report)},
              {"wrong", wrong},
              {"failure", pack_diagnostics(report->failure)},
              {"refused", report->refused}}
      .dump(-1, ' ', false,
            Json::error_handler_t::replace);  // names in a kernel may be any bytes
}

Expected<ChildReport> unpacked(const Expected<std::string>& outcome) {
  if (!outcome) return fail(outcome.error());
  Json j = Json::parse(*outcome);
  return ChildReport{j["text"], std::move(j["json"]), j["wrong"],
                     unpack_diagnostics(j["failure"].get<std::string>()), j["refused"]};
}

}  // namespace

Expected<ChildReport> run_in_child(const Workload& workload, const RunSettings& settings) {
  return unpacked(in_child([&] { return packed_report({&workload, &settings}); }));
}

void run_in_children(const std::vector<ChildWork>& work, int jobs,
                     const std::function<void(std::size_t, Expected<ChildReport>)>& done) {
  in_children(
      work.size(), jobs, [&](std::size_t i) { return packed_report(work[i]); },
      [&](std::size_t i, Expected<std::string> outcome) { done(i, unpacked(outcome)); });
}

}  // namespace xpusim::run
