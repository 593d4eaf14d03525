#include <algorithm>
#include <fstream>
#include <sstream>

#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {
namespace {

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

bool is_stablehlo(const Op& function) {
  if (function.regions.empty() || function.regions[0]->blocks.empty()) return false;
  const auto& ops = function.regions[0]->blocks[0]->ops;
  return std::any_of(ops.begin(), ops.end(),
                     [](const auto& op) { return op->name().starts_with("stablehlo."); });
}

Form form_of(const Op& module) {
  if (module.attr("stable_mosaic.version")) return Form::kMosaic;
  if (module.attr("ttg.num-warps")) return Form::kTtgir;
  if (!module.regions.empty() && !module.regions[0]->blocks.empty()) {
    for (const auto& op : module.regions[0]->blocks[0]->ops) {
      if (op->name() != "func.func") continue;
      return is_stablehlo(*op) ? Form::kStableHlo : Form::kMosaic;
    }
  }
  return Form::kTtir;
}

}  // namespace

bool Parser::parse_module(Module& module) {
  Block top;
  while (!at(TokenKind::kEnd)) {
    const bool alias = at(TokenKind::kHash) || at(TokenKind::kBang);
    if (alias ? !parse_alias_line(module, top.ops.empty()) : !parse_operation(top)) return false;
  }
  if (top.ops.size() != 1 || top.ops[0]->name() != "builtin.module") {
    Token where = token_;
    where.kind = TokenKind::kBad;
    return error(where, top.ops.empty() ? "the text has no module"
                                        : "expected one module and nothing else in the text");
  }
  module.op = std::move(top.ops[0]);
  module.op->parent = nullptr;
  return diagnostics().empty();
}

Expected<Module> read_module(std::string_view text, std::string file) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
  if (text.size() > kMaxBytes)
    return fail({std::move(file), 0, 0}, "kernel text is larger than 1 GiB");
  Module module;
  module.context = std::make_shared<Context>();
  module.file = file;
  Parser parser(text, std::move(file), *module.context);
  if (!parser.parse_module(module)) return fail(parser.diagnostics());
  module.form = form_of(*module.op);
  module.text_hash = fnv1a(text);
  index_functions(module);
  return module;
}

Expected<Module> read_module_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail({path, 0, 0}, "cannot open the kernel file");
  std::ostringstream text;
  text << in.rdbuf();
  if (!in.good() && !in.eof()) return fail({path, 0, 0}, "cannot read the kernel file");
  return read_module(text.view(), path);
}

}  // namespace xpusim::kernel
