#pragma once

// Prints a module as MLIR prints it. Grammars of ops use the public part.

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/kernel/text/spelling.h"

namespace xpusim::kernel {

class Printer {
 public:
  explicit Printer(const Module& module);

  std::string print();

  std::string& out() { return out_; }
  void operand(const Value* value);
  void operands(std::span<Value* const> values);  ///< %a, %b
  void argument_name(const Value& value);         ///< %x of a block argument
  void type(Type type) { spell_type(out_, type, &names_); }
  void types(const std::vector<Type>& types);         ///< a, b
  void types_of(std::span<Value* const> values);      ///< the types of values, with commas
  void result_types(const std::vector<Type>& types);  ///< a, or (a, b)
  void type_params(Type type) { spell_type_params(out_, type, &names_); }
  void attr(Attr attr) { spell_attr(out_, attr, &names_); }
  /// " {a = 1 : i32}" of all attributes but the elided ones, or nothing.
  void attr_dict(const Op& op, std::span<const std::string> elided, std::string_view keyword = "");
  void signature(const Op& op);  ///< (a, b) -> c
  /// `{ ... }`, with the entry block's label and arguments if `show_entry` and it has any, and
  /// without a last scf.yield that the text did not have if `hide_yield`.
  void region(const Region& region, bool show_entry, bool hide_yield = false);
  void successor(const Block& block);
  void new_line();  ///< at the indentation of the op
  /// "%x: f32 {attrs} loc(...)".
  void argument(const Value& value, Attr attrs = nullptr);

 private:
  void leading_aliases();
  void trailing_aliases();
  void alias_line(const std::string& name);
  void operation(const Op& op);
  void generic(const Op& op);
  void location(Loc loc);
  void result_names(const Op& op);
  void block_label(const Block& block);
  void predecessors(const Block& block);  ///< the comment that MLIR writes behind a label
  void indent() { out_.append(static_cast<std::size_t>(depth_) * 2, ' '); }

  // Names: what the text had, made unique within what is visible.
  void name_region(const Region& region);
  void name_op(const Op& op);
  void claim(const Value& value, std::vector<std::string>& claimed);

  const Module& module_;
  AliasNames names_;
  std::unordered_map<std::string_view, Attr> alias_attrs_;
  std::unordered_map<std::string_view, Type> alias_types_;
  std::unordered_map<std::string_view, Loc> alias_locs_;
  std::string out_;
  int depth_ = 0;
  std::unordered_map<const Value*, std::string> value_names_;
  std::unordered_set<std::string> visible_;
  std::uint64_t next_number_ = 0;
  std::unordered_map<const Block*, std::string> labels_;
  std::unordered_map<const Block*, std::vector<const Block*>> predecessors_;  ///< in textual order
};

}  // namespace xpusim::kernel
