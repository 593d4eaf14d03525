#include "sim/run/collective.h"

#include <algorithm>

namespace xpusim::run {

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> kNames = {"all_reduce", "all_gather", "reduce_scatter",
                                                  "all_to_all", "broadcast",  "permute"};
  return kNames;
}

bool is_collective(std::string_view name) {
  const auto& names = collective_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace xpusim::run
