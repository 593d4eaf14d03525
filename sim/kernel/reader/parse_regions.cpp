#include <algorithm>
#include <utility>

#include "sim/kernel/reader/nesting.h"

namespace xpusim::kernel {

bool Parser::parse_argument_decl(ArgumentDecl& decl, bool with_type) {
  decl.name = token_;
  if (!at(TokenKind::kPercent)) return expected("a value's name such as %x");
  advance();
  if (!with_type) return true;
  if (!expect(":", "and a type after the name of an argument")) return false;
  if (!(decl.type = parse_type())) return false;
  if (at("{")) {
    NamedAttrs attrs;
    if (!parse_attr_dict(attrs)) return false;
    decl.attrs = context_.dictionary(std::move(attrs));
  }
  return parse_optional_loc(decl.loc);
}

void Parser::add_argument(Block& block, const ArgumentDecl& decl) {
  auto value = std::make_unique<Value>();
  value->type = decl.type;
  value->owner = &block;
  value->index = static_cast<std::uint32_t>(block.args.size());
  value->name = decl.name.text;
  value->loc = decl.loc;
  define(decl.name, value.get(), 1);
  block.args.push_back(std::move(value));
}

Block& Parser::add_entry_block(Region& region) {
  Block& block = *region.blocks.emplace_back(std::make_unique<Block>());
  block.parent = &region;
  return block;
}

Block* Parser::labelled_block(const Token& label) {
  if (Block*& known = labels_->blocks[label.text]; known) {
    return known;
  } else {
    auto block = std::make_unique<Block>();
    block->parent = labels_->region;
    block->label = label.text;
    known = block.get();
    labels_->forward.push_back(std::move(block));
    return known;
  }
}

Block* Parser::parse_successor(const Op& op) {
  if (!at(TokenKind::kCaret)) {
    expected("a block such as ^bb1");
    return nullptr;
  }
  if (!labels_) {
    error(token_, "'" + op.info->name + "' stands in no region of blocks");
    return nullptr;
  }
  const Token label = token_;
  advance();
  labels_->uses.emplace(label.text, label);
  return labelled_block(label);
}

/// "^bb1(%a: i32, %b: f32):"
bool Parser::parse_block_header(Region& region, bool entry, Block*& block) {
  const Token label = token_;
  advance();
  Block* known = labelled_block(label);
  const auto it = std::find_if(labels_->forward.begin(), labels_->forward.end(),
                               [&](const auto& b) { return b.get() == known; });
  if (it == labels_->forward.end())
    return error(label, "redefinition of block '^" + std::string(label.text) + "'");
  if (entry && labels_->uses.contains(label.text))
    return error(label, "the entry block cannot be branched to");
  region.blocks.push_back(std::move(*it));
  labels_->forward.erase(it);
  block = known;
  if (accept("(")) {
    while (!at(")")) {
      if (!block->args.empty() && !expect(",", "between the arguments of a block")) return false;
      ArgumentDecl decl;
      if (!parse_argument_decl(decl, true)) return false;
      add_argument(*block, decl);
    }
    advance();
  }
  return expect(":", "after a block's label");
}

bool Parser::parse_block_body(Block& block) {
  while (!at("}") && !at(TokenKind::kCaret)) {
    if (at(TokenKind::kEnd)) return expected("an op or '}'");
    if (!parse_operation_or_recover(block)) return false;
  }
  return true;
}

bool Parser::finish_labels(Labels& labels) {
  for (const auto& block : labels.forward) {
    error(labels.uses.at(block->label), "branch to undefined block '^" + block->label + "'");
  }
  // Nothing may point to a block that does not exist.
  return labels.forward.empty();
}

bool Parser::parse_region(Op& op, std::vector<ArgumentDecl> args, bool isolated) {
  const Nesting nesting(*this);
  if (!nesting.allowed()) return false;
  Region& region = *op.regions.emplace_back(std::make_unique<Region>());
  region.parent = &op;
  const Token open = token_;
  if (!expect("{", "before a region")) return false;

  Labels labels;
  labels.region = &region;
  Labels* outer = std::exchange(labels_, &labels);
  decltype(values_) outer_values;
  if (isolated) outer_values.swap(values_);
  const std::size_t scope = open_scope();

  bool good = true;
  if (!at(TokenKind::kCaret) || !args.empty()) {
    Block& entry = add_entry_block(region);
    for (const ArgumentDecl& decl : args) add_argument(entry, decl);
    good = parse_block_body(entry);
  }
  while (good && at(TokenKind::kCaret)) {
    Block* block = nullptr;
    good = parse_block_header(region, region.blocks.empty(), block) && parse_block_body(*block);
  }
  good = good && finish_labels(labels) &&
         (expect("}", "to close the region that opens at line " + std::to_string(open.line)));

  close_scope(scope);
  if (isolated) values_.swap(outer_values);
  labels_ = outer;
  return good;
}

}  // namespace xpusim::kernel
