#include "sim/run/recorded_lines.h"

#include <map>
#include <string>
#include <utility>

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;
using Numbers = std::map<std::pair<std::string, int>, std::size_t>;

void find_ir(const kernel::Op& op, const Numbers& lines, std::vector<std::vector<int>>& found) {
  for (const auto& region : op.regions) {
    for (const auto& block : region->blocks) {
      for (const auto& inner : block->ops) {
        const SourcePosition at = inner->line();
        if (const auto it = lines.find({at.file, at.line}); it != lines.end()) {
          auto& list = found[it->second];
          if (list.empty() || list.back() != inner->text.line) list.push_back(inner->text.line);
        }
        find_ir(*inner, lines, found);
      }
    }
  }
}

}  // namespace

Json recorded_lines(const std::vector<SourcePosition>& all, const kernel::Module& module) {
  Numbers numbers;
  for (std::size_t n = 0; n < all.size(); ++n) numbers.try_emplace({all[n].file, all[n].line}, n);
  std::vector<std::vector<int>> ir(all.size());
  find_ir(*module.op, numbers, ir);
  Json list = Json::array();
  for (std::size_t n = 0; n < all.size(); ++n) {
    const std::size_t first = numbers.at({all[n].file, all[n].line});
    list.push_back({{"file", all[n].file}, {"line", all[n].line}, {"ir", ir[first]}});
  }
  return list;
}

}  // namespace xpusim::run
