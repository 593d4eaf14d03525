#include <set>

#include "sim/kernel/ir.h"
#include "sim/kernel/op_info.h"

namespace xpusim::kernel {
namespace {

void number_region(Function& f, const Region& region) {
  for (const auto& block : region.blocks) {
    for (const auto& arg : block->args) arg->id = f.value_count++;
    for (const auto& op : block->ops) {
      op->id = f.op_count++;
      for (const auto& result : op->results) result->id = f.value_count++;
      for (const auto& inner : op->regions) number_region(f, *inner);
    }
  }
}

bool has_body(const Function& f) {
  return !f.op->regions.empty() && !f.op->regions[0]->blocks.empty();
}

/// The functions that only say which block of a tensor a grid step sees.
std::set<std::string, std::less<>> transforms(const Module& module) {
  std::set<std::string, std::less<>> names;
  for (const Function& f : module.functions) {
    const Attr windows = f.op->attr("window_params");
    if (!windows) continue;
    for (const Attr window : windows->elements) {
      if (const Attr symbol = window->get("transform_indices")) names.insert(symbol->string);
    }
  }
  return names;
}

}  // namespace

Attr Function::arg_attr(std::size_t arg, std::string_view key) const {
  const Attr all = op->attr("arg_attrs");
  return all && arg < all->elements.size() ? all->elements[arg]->get(key) : nullptr;
}

void index_functions(Module& module) {
  module.functions.clear();
  if (!module.op || module.op->regions.empty()) return;
  for (const auto& block : module.op->regions[0]->blocks) {
    for (const auto& op : block->ops) {
      if (op->name() != "tt.func" && op->name() != "func.func") continue;
      Function f;
      f.op = op.get();
      f.name = op->str_attr("sym_name");
      f.is_public = op->str_attr("sym_visibility") != "private";
      for (const auto& region : op->regions) number_region(f, *region);
      module.functions.push_back(std::move(f));
    }
  }
}

const Function* Module::kernel() const {
  const auto passed_over = transforms(*this);
  for (const Function& f : functions) {
    if (f.is_public && has_body(f) && !passed_over.contains(f.name)) return &f;
  }
  return nullptr;
}

const Function* Module::function(std::string_view name) const {
  for (const Function& f : functions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

}  // namespace xpusim::kernel
