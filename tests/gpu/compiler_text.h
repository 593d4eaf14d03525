#pragma once

// Compiling kernels that tests write as text.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/gpu/compiler/compiler.h"

namespace xpusim::gpu::test {

/// A kernel's program; sites are numbered in the order in which the lowering asks for them.
inline Expected<Program> compile_text(const std::string& text) {
  auto module = kernel::read_module(text, "k.ttgir");
  if (!module) return fail(std::move(module.error()));
  std::map<const kernel::Op*, std::uint32_t> sites;
  auto site = [&](const kernel::Op& op) {
    return sites.emplace(&op, static_cast<std::uint32_t>(sites.size())).first->second;
  };
  return compile(*module, *module->kernel(), site, {});
}

/// How often each mnemonic stands in it.
inline std::map<std::string, int> count_mnemonics(const std::string& text) {
  const auto program = compile_text(text);
  EXPECT_TRUE(program) << program.error().str();
  std::map<std::string, int> n;
  if (!program) return n;
  for (const auto& i : program->code) ++n[i.mnemonic];
  return n;
}

}  // namespace xpusim::gpu::test
