# Writes a C++ file that holds the page's template, its style and its scripts as string literals.
set(page "")
set(style "")
set(script "")
foreach(file ${FILES})
  file(READ "${file}" text)
  get_filename_component(extension "${file}" LAST_EXT)
  if(extension STREQUAL ".html")
    string(APPEND page "${text}")
  elseif(extension STREQUAL ".css")
    string(APPEND style "${text}")
  else()
    string(APPEND script "${text}")
  endif()
endforeach()
file(WRITE "${OUT}" "#include \"tools/viewer/assets.h\"

namespace xpusim::viewer {

const std::string_view kPage = R\"asset(${page})asset\";
const std::string_view kStyle = R\"asset(${style})asset\";
const std::string_view kScript = R\"asset(${script})asset\";

}  // namespace xpusim::viewer
")
