#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/exec/code.h"
#include "sim/exec/needed.h"
#include "sim/exec/op_table.h"

namespace xpusim::exec {

using kernel::Block;
using kernel::Op;
using kernel::Region;
using kernel::Value;

/// Turns a function into Code. Calls are expanded in place; structured control flow becomes jumps,
/// and copies between value slots.
class CodeBuilder {
 public:
  CodeBuilder(std::shared_ptr<const kernel::Module> module, const kernel::Function& function);
  Expected<std::shared_ptr<const Prepared>> build();

 private:
  // Slots.
  std::uint32_t new_slot(kernel::Type type);
  std::uint32_t define(const Value& v);
  /// The slot of a value. One that nothing has defined is the result of an op that was refused.
  std::uint32_t slot(const Value& v) {
    const auto it = code_->slot_of.find(&v);
    return it == code_->slot_of.end() ? define(v) : it->second;
  }
  std::uint32_t site(const Op& op) {
    return code_->sites.try_emplace(&op, static_cast<std::uint32_t>(code_->sites.size()))
        .first->second;
  }

  // Emission.
  Instruction make(const Op& op, Handler run) const;
  void set_operands(Instruction& in, const std::vector<std::uint32_t>& slots);
  std::size_t emit(const Instruction& in);
  void emit_copies(const Op& op, const std::vector<std::uint32_t>& from,
                   const std::vector<std::uint32_t>& to);
  std::uint32_t here() const { return static_cast<std::uint32_t>(out_->size()); }
  void land(std::size_t jump) { (*out_)[jump].target = here(); }
  std::vector<std::uint32_t> slots_of(const std::vector<Value*>& values, std::size_t first = 0);

  // Ops.
  void region(const Region& r);
  void op(const Op& o);
  void plain(const Op& o, const OpEntry& entry);
  void for_loop(const Op& o);
  void while_loop(const Op& o);
  void if_else(const Op& o);
  void inline_region(const Op& o);
  void warp_specialize(const Op& o);
  void branch(const Op& o);
  void call(const Op& o);
  void function_return(const Op& o);
  std::uint32_t combination(const Op& o);
  bool is_fixed(const Op& o);
  void problem(const Op& o, std::string message) { problems_.error(o.line(), std::move(message)); }

  /// Where the function that is being expanded returns to.
  struct Callee {
    std::vector<std::uint32_t> results;
    std::vector<std::size_t> returns;  ///< jumps to its end
  };

  std::shared_ptr<Code> code_;
  const OpTable& table_;
  std::vector<Instruction>* out_ = nullptr;
  std::unordered_set<const Value*> needed_;
  std::unordered_set<std::uint32_t> fixed_;  ///< slots that are the same for all blocks of a launch
  std::unordered_map<const Block*, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, const Block*>> unresolved_;
  std::vector<Callee> callees_;
  bool args_are_fixed_ = true;
  bool in_combination_ = false;
  Diagnostics problems_;
};

}  // namespace xpusim::exec
