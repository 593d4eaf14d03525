#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/run/report.h"
#include "sim/run/workload.h"

namespace xpusim::viewer {

/// What the page shows of one launch (schema xpusim.view/1): the run's head, the launch's report,
/// its recording, and the text of the source lines and of the kernel's lines that these name.
/// Source files are looked for where the kernel's text says and in the folders above the kernel;
/// one that does not define the kernel is not taken.
nlohmann::ordered_json view_data(const run::Report& report, std::size_t launch,
                                 std::size_t launches);

/// One page that needs no network and no other file.
std::string page(const nlohmann::ordered_json& data);

}  // namespace xpusim::viewer
