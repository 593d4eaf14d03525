// Any text is read as a comparison file; it may not crash, hang or grow without bound.

#include <cstdint>
#include <string>

#include "sim/run/comparison/comparison_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xpusim;
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto root = config::read_yaml(text, "s.yaml");
  if (!root) return 0;
  (void)run::is_comparison_set(*root);
  (void)run::parse_comparison_set(*root, "s.yaml", {"gpu", "tpu"});
  return 0;
}
