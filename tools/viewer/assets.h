#pragma once

// The files of this folder that make the page (CMake writes their contents into the binary).

#include <string_view>

namespace xpusim::viewer {

extern const std::string_view kPage;    ///< page.html, with @TITLE@, @STYLE@, @DATA@ and @SCRIPT@
extern const std::string_view kStyle;   ///< style.css
extern const std::string_view kScript;  ///< the scripts, one after another

}  // namespace xpusim::viewer
