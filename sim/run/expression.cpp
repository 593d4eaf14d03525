#include "sim/run/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace xpusim::run {
namespace {

constexpr int kMaxDepth = 100;
constexpr std::size_t kMaxLength = 4096;  // a chain of operators is as deep as it is long

/// Recursive descent over: compare := sum [op sum]; sum := product {+- product};
/// product := unary {* / // % unary}; unary := - unary | primary.
class Parser {
 public:
  Parser(std::string_view text, const SourcePosition& where) : text_(text), where_(where) {}

  Expected<Expression> parse() {
    if (text_.size() > kMaxLength)
      return fail(where_, fmt::format("an expression of {} characters; at most {}", text_.size(),
                                      kMaxLength));
    auto e = compare(0);
    if (!e) return e;
    skip();
    if (at_ < text_.size())
      return fail(here(), fmt::format("expected an operator or the end, found '{}'", text_[at_]));
    return e;
  }

 private:
  SourcePosition here() const {
    SourcePosition p = where_;
    if (p.column > 0) p.column += static_cast<int>(at_);
    return p;
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  static Expression call(std::string name, std::vector<Expression> args, SourcePosition where) {
    Expression e;
    e.kind = Expression::Kind::kCall;
    e.name = std::move(name);
    e.args = std::move(args);
    e.where = std::move(where);
    return e;
  }

  struct Operator {
    std::string_view token, name;
  };

  template <std::size_t N, class Next>
  Expected<Expression> left_chain(const Operator (&ops)[N], int depth, Next next) {
    auto left = (this->*next)(depth);
    while (left) {
      const Operator* found = nullptr;
      SourcePosition where = here();
      for (const auto& op : ops) {
        if (take(op.token)) {
          found = &op;
          break;
        }
      }
      if (!found) break;
      auto right = (this->*next)(depth);
      if (!right) return right;
      left = call(std::string(found->name), {std::move(*left), std::move(*right)}, where);
    }
    return left;
  }

  Expected<Expression> compare(int depth) {
    static constexpr Operator kOps[] = {{"<=", "le"}, {">=", "ge"}, {"==", "eq"},
                                        {"!=", "ne"}, {"<", "lt"},  {">", "gt"}};
    if (depth > kMaxDepth) return fail(here(), "expression nested too deeply");
    return left_chain(kOps, depth + 1, &Parser::sum);
  }
  Expected<Expression> sum(int depth) {
    static constexpr Operator kOps[] = {{"+", "add"}, {"-", "sub"}};
    return left_chain(kOps, depth, &Parser::product);
  }
  Expected<Expression> product(int depth) {
    static constexpr Operator kOps[] = {
        {"//", "floordiv"}, {"*", "mul"}, {"/", "div"}, {"%", "mod"}};
    return left_chain(kOps, depth, &Parser::unary);
  }
  Expected<Expression> unary(int depth) {
    if (depth > kMaxDepth) return fail(here(), "expression nested too deeply");
    SourcePosition where = here();
    if (!take("-")) return primary(depth);
    auto e = unary(depth + 1);
    if (!e) return e;
    return call("neg", {std::move(*e)}, where);
  }

  Expected<Expression> primary(int depth) {
    skip();
    SourcePosition where = here();
    if (at_ >= text_.size()) return fail(where, "expected a number, a name or '(', found the end");
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return name_or_call(depth);
    if (take("(")) {
      auto e = compare(depth + 1);
      if (!e) return e;
      if (!take(")")) return fail(here(), "expected ')'");
      return e;
    }
    return fail(where, fmt::format("expected a number, a name or '(', found '{}'", c));
  }

  Expected<Expression> number() {
    const std::string rest(text_.substr(at_, 64));
    char* end = nullptr;
    Expression e;
    e.where = here();
    e.number = std::strtod(rest.c_str(), &end);
    if (end == rest.c_str()) return fail(here(), "expected a number");
    at_ += static_cast<std::size_t>(end - rest.c_str());
    return e;
  }

  std::string identifier() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Expected<Expression> name_or_call(int depth) {
    Expression e;
    e.where = here();
    e.name = identifier();
    e.kind = Expression::Kind::kName;
    if (!take("(")) return e;
    e.kind = Expression::Kind::kCall;
    if (take(")")) return e;
    do {
      if (auto problem = argument(e, depth)) return fail(*problem);
    } while (take(","));
    if (!take(")")) return fail(here(), "expected ',' or ')'");
    return e;
  }

  /// One argument of a call, positional or keyword; the problems, if any.
  std::optional<Diagnostics> argument(Expression& into, int depth) {
    skip();
    const std::size_t begin = at_;
    const std::string key = identifier();
    skip();
    if (!key.empty() && at_ < text_.size() && text_[at_] == '=' && text_.substr(at_, 2) != "==") {
      ++at_;
      auto value = unary(depth + 1);
      if (!value) return value.error();
      const bool negative = value->kind == Expression::Kind::kCall && value->name == "neg" &&
                            value->args[0].kind == Expression::Kind::kNumber;
      if (value->kind != Expression::Kind::kNumber && !negative) {
        Diagnostics d;
        d.error(value->where, fmt::format("'{}=' takes a number", key));
        return d;
      }
      into.keywords[key] = negative ? -value->args[0].number : value->number;
      return std::nullopt;
    }
    at_ = begin;
    auto e = compare(depth + 1);
    if (!e) return e.error();
    into.args.push_back(std::move(*e));
    return std::nullopt;
  }

  std::string_view text_;
  SourcePosition where_;
  std::size_t at_ = 0;
};

Expected<std::int64_t> call_integer(const Expression& e, const std::vector<std::int64_t>& a) {
  const auto two = [&] { return a.size() == 2; };
  std::int64_t r = 0;
  const auto checked = [&](bool overflow) -> Expected<std::int64_t> {
    if (overflow) return fail(e.where, "the value does not fit 64 bits");
    return r;
  };
  if (e.name == "neg" && a.size() == 1) return checked(__builtin_sub_overflow(0, a[0], &r));
  if (e.name == "add" && two()) return checked(__builtin_add_overflow(a[0], a[1], &r));
  if (e.name == "sub" && two()) return checked(__builtin_sub_overflow(a[0], a[1], &r));
  if (e.name == "mul" && two()) return checked(__builtin_mul_overflow(a[0], a[1], &r));
  if (e.name == "min" && two()) return std::min(a[0], a[1]);
  if (e.name == "max" && two()) return std::max(a[0], a[1]);
  const bool divides =
      e.name == "div" || e.name == "floordiv" || e.name == "mod" || e.name == "cdiv";
  if (divides && two()) {
    if (a[1] <= 0) return fail(e.where, "division by zero or by a negative number");
    const std::int64_t floor = a[0] / a[1] - (a[0] % a[1] < 0 ? 1 : 0);
    if (e.name == "floordiv") return floor;
    if (e.name == "mod") return a[0] - floor * a[1];
    if (e.name == "cdiv") return floor + (a[0] - floor * a[1] != 0 ? 1 : 0);
    if (a[0] % a[1] != 0)
      return fail(e.where,
                  fmt::format("{} / {} is not a whole number; use // or cdiv", a[0], a[1]));
    return a[0] / a[1];
  }
  static const std::vector<std::string> kFunctions = {"cdiv", "min", "max"};
  if (std::find(kFunctions.begin(), kFunctions.end(), e.name) != kFunctions.end())
    return fail(e.where, fmt::format("'{}' takes 2 arguments, not {}", e.name, a.size()));
  return fail(e.where,
              fmt::format("'{}' with {} arguments is no integer function (cdiv, min, max){}",
                          e.name, a.size(), did_you_mean(e.name, kFunctions)));
}

}  // namespace

Expected<Expression> parse_expression(std::string_view text, const SourcePosition& where) {
  return Parser(text, where).parse();
}

Expected<std::int64_t> evaluate_integer(const Expression& e,
                                        const std::map<std::string, std::int64_t>& names) {
  if (e.kind == Expression::Kind::kNumber) {
    if (e.number != std::floor(e.number) || std::abs(e.number) > 9e15)
      return fail(e.where, fmt::format("{} is not a whole number", e.number));
    return static_cast<std::int64_t>(e.number);
  }
  if (e.kind == Expression::Kind::kName) {
    if (auto it = names.find(e.name); it != names.end()) return it->second;
    std::vector<std::string> known;
    known.reserve(names.size());
    for (const auto& [k, v] : names) known.push_back(k);
    return fail(e.where, fmt::format("'{}' is no argument or constexpr{}", e.name,
                                     did_you_mean(e.name, known)));
  }
  std::vector<std::int64_t> args;
  for (const auto& a : e.args) {
    auto v = evaluate_integer(a, names);
    if (!v) return v;
    args.push_back(*v);
  }
  return call_integer(e, args);
}

}  // namespace xpusim::run
