#pragma once

// Checks that verifiers of several dialects share. Each returns "" or what is wrong.

#include <string>

#include "sim/kernel/ir.h"

namespace xpusim::kernel {

/// The source's extents are the result's, or 1.
std::string check_broadcast(Type source, Type result);
std::string check_same_shape(Type a, Type b, std::string_view what_a, std::string_view what_b);
std::string check_same_element(Type a, Type b, std::string_view what_a, std::string_view what_b);
/// Both are scalars, or shaped alike with the same layout: what element-wise casts need.
std::string check_same_frame(Type a, Type b);
std::string check_same_count(Type a, Type b);
/// An attribute that an op cannot do without.
std::string check_has_attr(const Op& op, std::string_view key);

std::string shape_text(Type type);  ///< "[128, 64]"

}  // namespace xpusim::kernel
