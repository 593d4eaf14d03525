#pragma once

namespace xpusim::run {

/// The tool and its version, as reports, sweeps and `--version` state it.
inline constexpr const char* kTool = "xpusim 0.1.0";

}  // namespace xpusim::run
