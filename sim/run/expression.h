#pragma once

// The small expression language of launch files: grids ("cdiv(n, BLOCK)") over integers, and
// references
// ("relu(x * w + b)") over tensors in double precision.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"

namespace xpusim::run {

/// A parsed expression. Numbers, names, calls; the operators + - * / // % and unary - are calls of
/// "add", "sub", "mul", "div", "floordiv", "mod" and "neg"; comparisons are "lt", "le", "gt", "ge",
/// "eq", "ne"; a name with "=" inside a call is a keyword argument (axis=1).
struct Expression {
  enum class Kind { kNumber, kName, kCall } kind = Kind::kNumber;
  double number = 0;
  std::string name;  ///< kName: the name; kCall: the function
  std::vector<Expression> args;
  std::map<std::string, double> keywords;
  SourcePosition where;
};

/// Parses `text`, which begins at `where`. Depth is bounded; errors say what was expected.
Expected<Expression> parse_expression(std::string_view text, const SourcePosition& where);

/// Evaluates an integer expression: + - * // / (exact) % cdiv min max over `names`. A name that is
/// not there is an error with "did you mean".
Expected<std::int64_t> evaluate_integer(const Expression& e,
                                        const std::map<std::string, std::int64_t>& names);

}  // namespace xpusim::run
