#pragma once

// The types of an op's operands and results: groups, inference of what a text leaves out, and
// checks.

#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/kernel/op_info.h"

namespace xpusim::kernel {

/// The types of each group: operand groups first, then result groups. An empty list is not known
/// yet.
using GroupTypes = std::vector<std::vector<Type>>;

/// "lhs:int, mask?:bool, args*": names, arities (? optional, * variadic) and type classes.
std::vector<ValueGroup> parse_groups(std::string_view text);
/// "mask = bool(ptr); other = pointee(ptr)" over the groups of `info`; a malformed one is a bug in
/// a definition and ends the process with its text.
std::vector<TypeRule> parse_type_rules(std::string_view text, const OpInfo& info);

/// Fills groups that are not known from those that are; `counts` says how many values each has.
void infer_types(Context& context, const OpInfo& info, const std::vector<std::size_t>& counts,
                 GroupTypes& types);
/// "" if the types of an op's values agree with its definition, else what is wrong.
std::string check_types(const Op& op);
/// Sets Op::segments of an op in generic form from its attribute, or by counting; "" or a problem.
std::string assign_segments(Op& op);

/// "an integer", "a pointer or a tensor of them", ...
std::string describe(TypeClass type_class);
bool belongs(Type type, TypeClass type_class);

}  // namespace xpusim::kernel
