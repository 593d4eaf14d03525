#include "sim/run/child_run.h"

namespace xpusim::run {

using Json = nlohmann::ordered_json;

Expected<ChildReport> run_in_child(const Workload& workload, const RunSettings& settings) {
  auto outcome = in_child([&]() -> Expected<std::string> {
    auto report = run_workload(workload, settings);
    if (!report) return fail(report.error());
    bool wrong = false;
    for (const auto& c : report->checks) wrong |= !c.right;
    return Json{{"text", to_text(*report)},
                {"json", to_json(*report)},
                {"wrong", wrong},
                {"failure", pack_diagnostics(report->failure)}}
        .dump(-1, ' ', false,
              Json::error_handler_t::replace);  // names in a kernel may be any bytes
  });
  if (!outcome) return fail(outcome.error());
  Json j = Json::parse(*outcome);
  return ChildReport{j["text"], std::move(j["json"]), j["wrong"],
                     unpack_diagnostics(j["failure"].get<std::string>())};
}

}  // namespace xpusim::run
