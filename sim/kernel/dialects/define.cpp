#include "sim/kernel/dialects/define.h"

#include <unordered_map>

#include "sim/kernel/grammar/format.h"
#include "sim/kernel/grammar/type_rules.h"

namespace xpusim::kernel {
namespace {

/// The registry of all ops: built on first use, in a fixed order, never changed.
class Registry {
 public:
  Registry() {
    for (const auto define :
         {define_builtin, define_func, define_arith, define_math, define_scf, define_cf, define_gpu,
          define_llvm, define_tt, define_tt_tiles, define_tt_memory, define_ttg,
          define_warp_specialize, define_ttng, define_vector, define_memref, define_stablehlo,
          define_tpu, define_tpu_vectors}) {
      define(all_);
    }
    for (OpInfo& info : all_.ops) {
      info.id = static_cast<OpId>(by_name_.size());
      if (info.spelling.empty()) info.spelling = info.name;
      if (!info.format.empty()) {
        info.grammar = all_.grammars.emplace_back(make_format_grammar(info)).get();
      }
      by_name_.emplace(info.name, &info);
    }
  }

  const OpInfo* find(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }
  const Definitions& all() const { return all_; }

 private:
  Definitions all_;
  std::unordered_map<std::string_view, const OpInfo*> by_name_;
};

const Registry& registry() {
  static const Registry instance;
  return instance;
}

}  // namespace

const OpInfo* find_op(std::string_view name) { return registry().find(name); }
const OpInfo& op_info(OpId id) { return registry().all().ops[id]; }
std::size_t op_count() { return registry().all().ops.size(); }

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpInfo& info : registry().all().ops) names.push_back(info.name);
  return names;
}

bool OpInfo::has_segments() const {
  for (const ValueGroup& g : operands) {
    if (g.arity != Arity::kOne) return true;
  }
  return false;
}

int OpInfo::operand_group(std::string_view group) const {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].name == group) return static_cast<int>(i);
  }
  return -1;
}

Definition& Definition::in(std::string_view groups) {
  info_.operands = parse_groups(groups);
  return *this;
}

Definition& Definition::out(std::string_view groups) {
  info_.results = parse_groups(groups);
  return *this;
}

Definition& Definition::types(std::string_view rules) {
  info_.type_rules = parse_type_rules(rules, info_);
  return *this;
}

/// An empty format is one too: nothing follows the op's name.
Definition& Definition::format(std::string text) {
  info_.format = text.empty() ? " " : std::move(text);
  return *this;
}

Definition& Definition::grammar(std::unique_ptr<OpGrammar> grammar) {
  info_.grammar = all_.grammars.emplace_back(std::move(grammar)).get();
  return *this;
}

Definition& Definition::verify(std::string (*check)(const Op&)) {
  info_.verify = check;
  return *this;
}

Definition& Definition::effects(std::uint32_t effects) {
  info_.effects = effects;
  return *this;
}

Definition& Definition::isolated(std::size_t from_region) {
  info_.isolated_from = from_region;
  return *this;
}

Definition& Definition::spelled(std::string spelling) {
  info_.spelling = std::move(spelling);
  return *this;
}

Definition Dialect::op(std::string_view mnemonic) {
  OpInfo& info = all_.ops.emplace_back();
  info.name = name_ + "." + std::string(mnemonic);
  return {all_, info};
}

}  // namespace xpusim::kernel
