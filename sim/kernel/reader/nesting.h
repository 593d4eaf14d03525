#pragma once

#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {

/// Counts how deep types, attributes, locations and regions nest, and refuses absurd depths, so
/// that no text can exhaust the stack.
class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    allowed_ = ++parser_.depth_ <= kMaxDepth;
    if (!allowed_) parser_.error(parser_.token_, "nested too deeply (more than 200 levels)");
  }
  ~Nesting() { --parser_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool allowed() const { return allowed_; }

 private:
  static constexpr int kMaxDepth = 200;
  Parser& parser_;
  bool allowed_;
};

}  // namespace xpusim::kernel
