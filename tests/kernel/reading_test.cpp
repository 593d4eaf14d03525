#include "tests/kernel/reading.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace xpusim::kernel::testing {
namespace {

std::string text_of(Type type) { return type ? type->text : "(none)"; }
std::string text_of(Loc loc) { return loc ? loc->text : "(none)"; }

std::string differing(const std::string& what, const std::string& a, const std::string& b) {
  return a == b ? "" : what + ": " + a + " and " + b;
}

std::string value_difference(const Value& a, const Value& b) {
  if (auto d = differing("value's name", a.name, b.name); !d.empty()) return d;
  if (auto d = differing("id of %" + a.name, std::to_string(a.id), std::to_string(b.id));
      !d.empty())
    return d;
  if (auto d = differing("type of %" + a.name, text_of(a.type), text_of(b.type)); !d.empty())
    return d;
  return differing("location of %" + a.name, text_of(a.loc), text_of(b.loc));
}

std::string region_difference(const Region& a, const Region& b) {
  if (a.blocks.size() != b.blocks.size()) return "number of blocks";
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    const Block &x = *a.blocks[i], &y = *b.blocks[i];
    if (x.args.size() != y.args.size() || x.ops.size() != y.ops.size()) return "size of a block";
    for (std::size_t k = 0; k < x.args.size(); ++k) {
      if (auto d = value_difference(*x.args[k], *y.args[k]); !d.empty()) return d;
    }
    for (std::size_t k = 0; k < x.ops.size(); ++k) {
      if (auto d = difference(*x.ops[k], *y.ops[k]); !d.empty()) return d;
    }
  }
  return "";
}

void collect(const Op& op, std::string_view name, std::vector<const Op*>& found) {
  if (op.name() == name) found.push_back(&op);
  for (const auto& region : op.regions) {
    for (const auto& block : region->blocks) {
      for (const auto& inner : block->ops) collect(*inner, name, found);
    }
  }
}

}  // namespace

Module read(const std::string& text) {
  auto module = read_module(text, "test.ttir");
  if (module) return std::move(*module);
  ADD_FAILURE() << module.error().str() << "in:\n" << text;
  return {};
}

std::string function(const std::string& args, const std::string& body) {
  return "module {\n  tt.func public @f(" + args + ") {\n" + body + "\n    tt.return\n  }\n}\n";
}

std::string problems(const std::string& text) {
  const auto module = read_module(text, "test.ttir");
  if (!module) return module.error().str();
  ADD_FAILURE() << "this should not read:\n" << text;
  return "";
}

std::string difference(const Op& a, const Op& b) {
  const std::string at = std::string(a.name()) + " at line " + std::to_string(a.text.line) + ": ";
  if (a.info != b.info) return at + "is " + std::string(b.name());
  if (a.generic_form != b.generic_form || a.property_count != b.property_count) return at + "form";
  if (a.segments != b.segments) return at + "segments";
  if (a.operands.size() != b.operands.size() || a.results.size() != b.results.size())
    return at + "counts";
  for (std::size_t i = 0; i < a.operands.size(); ++i) {
    if (auto d = value_difference(*a.operands[i], *b.operands[i]); !d.empty()) return at + d;
  }
  for (std::size_t i = 0; i < a.results.size(); ++i) {
    if (auto d = value_difference(*a.results[i], *b.results[i]); !d.empty()) return at + d;
  }
  if (a.attrs.size() != b.attrs.size()) return at + "number of attributes";
  for (std::size_t i = 0; i < a.attrs.size(); ++i) {
    if (auto d = differing("attribute", a.attrs[i].first, b.attrs[i].first); !d.empty())
      return at + d;
    if (auto d = differing(a.attrs[i].first, a.attrs[i].second->text, b.attrs[i].second->text);
        !d.empty())
      return at + d;
  }
  if (auto d = differing("location", text_of(a.loc), text_of(b.loc)); !d.empty()) return at + d;
  if (a.id != b.id || a.successors.size() != b.successors.size() ||
      a.regions.size() != b.regions.size())
    return at + "id, successors or regions";
  for (std::size_t i = 0; i < a.successors.size(); ++i) {
    if (a.successors[i]->label != b.successors[i]->label) return at + "successor";
  }
  for (std::size_t i = 0; i < a.regions.size(); ++i) {
    if (auto d = region_difference(*a.regions[i], *b.regions[i]); !d.empty()) return d;
  }
  return "";
}

std::vector<const Op*> find_ops(const Op& op, std::string_view name) {
  std::vector<const Op*> found;
  collect(op, name, found);
  return found;
}

const Op& only_op(const Module& module, std::string_view name) {
  const auto found = find_ops(*module.op, name);
  EXPECT_EQ(found.size(), 1u) << name;
  return *found.at(0);
}

std::size_t count_ops(const Module& module, std::string_view name) {
  return find_ops(*module.op, name).size();
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> kernel_files(const std::string& extension) {
  std::vector<std::string> paths;
  const std::string root = std::string(XPUSIM_SOURCE_DIR) + "/workloads";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().parent_path().filename() == "ir" && name.ends_with(extension)) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> workload_files(const std::string& stem, const std::string& extension) {
  std::vector<std::string> paths = kernel_files(extension);
  std::erase_if(paths, [&](const std::string& path) {
    const std::filesystem::path p(path);
    return !p.filename().string().starts_with(stem) ||
           p.parent_path().parent_path().filename() == "language";
  });
  return paths;
}

// --- the compilers' own texts ------------------------------------------------------------------

/// Every kernel in workloads/: a file that cannot be read or that comes back changed fails here.
TEST(CompilerText, ComesBackByteForByte) {
  std::size_t count = 0;
  for (const auto* extension : {".ttir", ".ttgir", ".mlir"}) {
    for (const auto& path : kernel_files(extension)) {
      ++count;
      const auto module = read_module_file(path);
      if (!module) {
        ADD_FAILURE() << path << " does not read:\n" << module.error().str();
        continue;
      }
      EXPECT_EQ(print_module(*module), file_text(path)) << path;
    }
  }
  EXPECT_GE(count, 413u) << "kernels are missing in workloads/";
}

TEST(CompilerText, ReadsAgainToTheSameIr) {
  for (const auto* extension : {".ttir", ".ttgir", ".mlir"}) {
    for (const auto& path : kernel_files(extension)) {
      const auto first = read_module_file(path);
      ASSERT_TRUE(first) << path;
      const auto second = read_module(print_module(*first), path);
      ASSERT_TRUE(second) << path << "\n" << second.error().str();
      EXPECT_EQ(difference(*first->op, *second->op), "") << path;
      EXPECT_EQ(first->text_hash, second->text_hash) << path;
    }
  }
}

TEST(CompilerText, IsOfTheFormThatItsExtensionSays) {
  for (const auto& path : kernel_files(".ttir"))
    EXPECT_EQ(read_module_file(path)->form, Form::kTtir) << path;
  for (const auto& path : kernel_files(".ttgir"))
    EXPECT_EQ(read_module_file(path)->form, Form::kTtgir) << path;
  for (const auto& path : kernel_files(".mlir")) {
    const bool hlo = path.find(".stablehlo.") != std::string::npos;
    EXPECT_EQ(read_module_file(path)->form, hlo ? Form::kStableHlo : Form::kMosaic) << path;
  }
}

/// Truncated anywhere, a text gives diagnostics, never a crash; and so it does with any line left
/// out that another needs.
TEST(CompilerText, TruncatedGivesDiagnostics) {
  for (const auto* stem : {"softmax_0063708cb5", "descriptor_matmul_3d2343c5de"}) {
    const std::string text = file_text(workload_files(stem, ".ttgir").at(0));
    const std::size_t end = text.find("\n} loc(#loc)");
    for (std::size_t size = 0; size < end; size += 97) {
      const auto module = read_module(text.substr(0, size), "cut.ttgir");
      ASSERT_FALSE(module) << size;
      EXPECT_TRUE(module.error().has_errors());
      EXPECT_GT(module.error().list()[0].where.line, 0) << module.error().str();
    }
  }
}

}  // namespace xpusim::kernel::testing
