#pragma once

// Compiling kernels in TTIR form, of the workloads or written as text, and looking at what came
// out.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/gpu/compiler/passes/passes.h"

namespace xpusim::gpu::test {

inline Expected<kernel::Module> compile_ttir(const std::string& text, passes::Target target = {}) {
  auto module = kernel::read_module(text, "k.ttir");
  if (!module) return fail(std::move(module.error()));
  return passes::to_ttgir(*module, target);
}

/// The body of a kernel with three arguments of pointers and one of i32.
inline std::string ttir(const std::string& body) {
  const std::string pointer = "!tt.ptr<f32> {tt.divisibility = 16 : i32}";
  return "module {\n  tt.func public @k(%x: " + pointer + ", %y: " + pointer + ", %z: " + pointer +
         ", %n: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {\n" + body +
         "    tt.return\n  }\n}\n";
}

template <class Visit>
void for_each_op(const kernel::Op& op, const Visit& visit) {
  visit(op);
  for (const auto& region : op.regions) {
    for (const auto& block : region->blocks) {
      for (const auto& inner : block->ops) for_each_op(*inner, visit);
    }
  }
}

/// How often each op stands in a module with its types and attributes, whatever its operands are
/// called: "tt.splat i32 -> tensor<...>".
inline std::map<std::string, int> ops_of(const kernel::Module& module) {
  std::map<std::string, int> counts;
  for_each_op(*module.op, [&](const kernel::Op& op) {
    if (op.name() == "builtin.module" || op.name() == "tt.func") return;
    std::string line(op.name());
    for (const auto* operand : op.operands) line += " " + operand->type->text;
    std::map<std::string, std::string> attrs;
    for (const auto& [key, value] : op.attrs) attrs[key] = value->text;
    for (const auto& [key, value] : attrs) line += " " + key + "=" + value;
    line += " ->";
    for (const auto& result : op.results) line += " " + result->type->text;
    ++counts[line];
  });
  return counts;
}

inline int count_ops(const kernel::Module& module, std::string_view name) {
  int count = 0;
  for_each_op(*module.op, [&](const kernel::Op& op) { count += op.name() == name; });
  return count;
}

}  // namespace xpusim::gpu::test
