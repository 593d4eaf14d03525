#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace xpusim {

/// A place in a text that the user wrote. Lines and columns count from 1; 0 means "not known".
struct SourcePosition {
  std::string file;
  int line = 0;
  int column = 0;

  std::string str() const;  ///< "file:line:column", without the parts that are not known
};

enum class Severity { kError, kWarning, kNote };

/// One problem in the user's input: where it is, what is wrong, and what would be right.
struct Diagnostic {
  Severity severity = Severity::kError;
  SourcePosition where;
  std::string message;

  std::string str() const;  ///< "file:line:column: error: message"
};

/// All problems found in one input; readers collect every one before they give up.
class Diagnostics {
 public:
  void add(Diagnostic d) { list_.push_back(std::move(d)); }
  void error(SourcePosition where, std::string message) {
    add({Severity::kError, std::move(where), std::move(message)});
  }
  void warning(SourcePosition where, std::string message) {
    add({Severity::kWarning, std::move(where), std::move(message)});
  }
  void append(const Diagnostics& other);

  bool has_errors() const;
  bool empty() const { return list_.empty(); }
  const std::vector<Diagnostic>& list() const { return list_; }
  std::string str() const;  ///< one line a diagnostic

 private:
  std::vector<Diagnostic> list_;
};

/// A value, or all the reasons why there is none.
template <class T>
using Expected = tl::expected<T, Diagnostics>;

inline tl::unexpected<Diagnostics> fail(SourcePosition where, std::string message) {
  Diagnostics d;
  d.error(std::move(where), std::move(message));
  return tl::unexpected<Diagnostics>(std::move(d));
}
inline tl::unexpected<Diagnostics> fail(Diagnostics d) {
  return tl::unexpected<Diagnostics>(std::move(d));
}

/// "; did you mean 'x'?" for the nearest candidate, or "" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace xpusim
