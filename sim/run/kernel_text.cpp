#include "sim/run/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/kernel/op_info.h"
#include "sim/kernel/text/spelling.h"

namespace xpusim::run {
namespace {

template <class F>
void for_each_op(const kernel::Region& region, const F& f) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      f(*op);
      for (const auto& inner : op->regions) for_each_op(*inner, f);
    }
  }
}

std::string signature(const kernel::Module& module, const kernel::Function& function) {
  kernel::AliasNames names;
  for (const auto& [name, type] : module.type_aliases) names.types[type] = name;
  for (const auto& [name, attr] : module.aliases) names.attrs[attr] = name;
  std::string out = fmt::format("  {} {}(", &function == module.kernel() ? "kernel  " : "function",
                                function.name);
  for (std::size_t i = 0; i < function.arg_count(); ++i) {
    const kernel::Value& arg = *function.entry().args[i];
    std::string type;
    kernel::spell_type(type, arg.type, &names);
    out += fmt::format("{}{}: {}", i == 0 ? "" : ", ", arg.name, type);
    if (const kernel::Attr d = function.arg_attr(i, "tt.divisibility"); d != nullptr) {
      out += fmt::format(" (multiple of {})", d->integer);
    }
  }
  return out + ")\n";
}

std::string join(const std::vector<std::string>& words, std::size_t indent) {
  constexpr std::size_t kColumns = 100;
  std::string out, line;
  const std::string margin(indent, ' ');
  for (const auto& word : words) {
    if (!line.empty() && margin.size() + line.size() + word.size() + 2 > kColumns) {
      out += (out.empty() ? "" : margin) + line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + word;
  }
  return out + (out.empty() ? "" : margin) + line + "\n";
}

}  // namespace

std::string describe(const kernel::Module& module) {
  std::map<std::string, std::size_t> counts;
  std::set<std::string> missing;
  std::size_t total = 0;
  for (const auto& function : module.functions) {
    for_each_op(*function.op->regions[0], [&](const kernel::Op& op) {
      ++total;
      ++counts[std::string(op.name())];
      if (!exec::has_handler(op.info->id)) missing.insert(std::string(op.name()));
    });
  }
  std::string out =
      fmt::format("{}: {}, {} function{}, {} ops\n", module.file, name(module.form),
                  module.functions.size(), module.functions.size() == 1 ? "" : "s", total);
  for (const auto& function : module.functions) out += signature(module, function);
  std::vector<std::string> words;
  for (const auto& [op, n] : counts) words.push_back(n == 1 ? op : fmt::format("{} x{}", op, n));
  if (!words.empty()) out += "  ops      " + join(words, 11);
  if (module.form == kernel::Form::kStableHlo) {
    out += "  executed by nothing: StableHLO is only read\n";
  } else if (!missing.empty()) {
    out += "  the functional executor lacks " + join({missing.begin(), missing.end()}, 11);
  }
  return out;
}

std::string describe_support(const kernel::Module& module, const Machine& machine,
                             const Family& family) {
  const std::string name = fmt::format("  {:<14} ", machine.name());
  if (std::find(family.forms.begin(), family.forms.end(), module.form) == family.forms.end()) {
    return name + fmt::format("does not take {}\n", kernel::name(module.form));
  }
  const auto lacks = machine.unsupported(module);
  if (lacks.empty()) return name + "runs it\n";
  std::string out = name + fmt::format("lacks {}\n", lacks[0]);
  for (std::size_t i = 1; i < lacks.size(); ++i) {
    out += std::string(23, ' ') + lacks[i] + "\n";
  }
  return out;
}

}  // namespace xpusim::run
