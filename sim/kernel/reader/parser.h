#pragma once

// The reader's working state over one text: tokens, aliases, scopes of value names, diagnostics.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/kernel/op_info.h"
#include "sim/kernel/reader/lexer.h"

namespace xpusim::kernel {

using NamedAttrs = std::vector<std::pair<std::string, Attr>>;

/// The value of "12" or "0x1F", or nothing if it needs more than 64 bits.
std::optional<std::uint64_t> parse_magnitude(std::string_view digits);

/// A block argument as its text declares it, before its block exists.
struct ArgumentDecl {
  Token name;
  Type type = nullptr;
  Attr attrs = nullptr;  ///< a dictionary, where a function's parameter has one
  Loc loc = nullptr;
};

/// Reads types, attributes, locations and ops from a text. Functions that return bool, or a
/// pointer, return false or null after an error, which they have reported. Grammars of ops use the
/// public part.
class Parser {
 public:
  Parser(std::string_view text, std::string file, Context& context);

  // Tokens.
  const Token& token() const { return token_; }
  void advance() { token_ = lexer_.next(); }
  bool at(TokenKind kind) const { return token_.kind == kind; }
  bool at(std::string_view literal) const {
    return (token_.kind == TokenKind::kPunctuation || token_.kind == TokenKind::kWord) &&
           token_.text == literal;
  }
  bool accept(std::string_view literal);
  /// Consumes `literal`; otherwise an error "expected ',' <after>, found ...".
  bool expect(std::string_view literal, std::string_view after = "");
  struct Mark {
    Lexer lexer;
    Token token;
  };
  Mark mark() const { return {lexer_, token_}; }
  void rewind(const Mark& m) { lexer_ = m.lexer, token_ = m.token; }

  // Diagnostics. `error` always returns false.
  bool error(const Token& where, std::string message);
  /// "expected WHAT, found 'x'".
  bool expected(std::string_view what);
  SourcePosition position(const Token& where) const;
  /// All problems; missing locations only if the text did not break off.
  Diagnostics diagnostics() const;

  // Types, attributes, locations.
  Context& context() { return context_; }
  Type parse_type();
  bool parse_types(std::vector<Type>& types);                ///< a, b, c
  bool parse_parenthesized_types(std::vector<Type>& types);  ///< (a, b, c)
  bool parse_result_types(std::vector<Type>& types);         ///< a, or (a, b)
  /// The parameters of a type without its mnemonic: <f32>, <128x64xbf16, #shared, #smem>.
  Type parse_type_params(TypeKind kind);
  Attr parse_attr();
  bool parse_attr_dict(NamedAttrs& attrs);  ///< {a = 1 : i32, b}
  bool parse_optional_attr_dict(NamedAttrs& attrs) { return !at("{") || parse_attr_dict(attrs); }
  bool parse_int(std::int64_t& value, std::string_view what);  ///< with its sign
  bool parse_string(std::string& value, std::string_view what);
  bool parse_symbol(std::string& value);
  bool parse_optional_loc(Loc& loc);  ///< loc(...), or nothing

  // Operands: names are looked up at once; an unknown one is reported and gets a stand-in.
  Value* parse_operand();
  bool parse_operands(std::vector<Value*>& operands);  ///< %a, %b, ...; at least one
  /// Reports an operand whose definition has another type than its use says.
  void check_type(const Value& operand, Type expected, const Token& where, const Op& user);

  // Blocks and regions.
  Block* parse_successor(const Op& op);
  bool parse_argument_decl(ArgumentDecl& decl, bool with_type);
  Block& add_entry_block(Region& region);
  /// `{ ... }`. The entry block gets `args` where a grammar has read them itself.
  bool parse_region(Op& op, std::vector<ArgumentDecl> args = {}, bool isolated = false);
  void add_results(Op& op, const std::vector<Type>& types);

  bool parse_module(Module& module);

 private:
  struct Definition {
    Value* value = nullptr;  ///< a block argument, or the first result of an op
    std::uint32_t count = 1;
    Token where;
  };
  struct AliasEntry {
    Mark body;  ///< behind the '='
    Mark end;
    enum class State : std::uint8_t { kUnread, kReading, kRead, kBad } state = State::kUnread;
    Attr attr = nullptr;
    Type type = nullptr;
    Loc loc = nullptr;
  };
  struct ResultNames {
    Token name;
    std::uint32_t count = 1;
  };
  struct Labels {
    Region* region = nullptr;
    std::unordered_map<std::string_view, Block*> blocks;
    std::unordered_map<std::string_view, Token> uses;
    std::vector<std::unique_ptr<Block>> forward;  ///< named, not yet defined
  };
  class Nesting;  // guards recursion

  // parse_types.cpp
  Type parse_type_uncached();
  Type parse_scalar_or_opaque(const Token& word);
  Type parse_shaped(TypeKind kind, const Token& start);
  Type parse_dialect_type();
  Type parse_pointer_params();
  Type parse_tensordesc_params();
  Type parse_function_type();
  Type parse_opaque_params(std::string text);
  bool parse_dims(std::vector<std::int64_t>& shape);
  bool parse_bare_dims(std::vector<std::int64_t>& shape);
  bool parse_type_attrs(TypeData& data);
  std::optional<std::string> parse_raw_params();  ///< <...> as written, brackets balanced
  std::uint32_t type_slice_end() const;

  // parse_attributes.cpp
  Attr parse_attr_uncounted();
  Attr parse_number(bool negative);
  Attr parse_typed_float(const Token& literal, bool negative, Type type);
  Attr parse_dialect_attr();
  Attr parse_dense_array();
  Attr parse_dense_elements();
  bool parse_dense_values(std::vector<Token>& values, std::vector<bool>& negative, bool& splat);
  bool dense_hex(const Token& text, AttrData& data);
  bool dense_element(const Token& value, bool negative, Type element, std::int64_t& bits);
  Attr parse_word_attr();
  bool parse_attr_list(std::vector<Attr>& attrs, std::string_view end);
  bool within_size(std::size_t size, const Token& where);

  // parse_locations.cpp
  Loc unknown_location(const Token& use);
  Loc parse_inner_loc();
  Loc parse_file_or_name_loc();
  Loc parse_fused_loc();

  // aliases.cpp
  void collect_aliases();
  AliasEntry* resolve_alias(const Token& use, std::string_view what);
  bool parse_alias_line(Module& module, bool before_module);

  // parse_operations.cpp
  bool parse_operation(Block& block);
  bool parse_operation_or_recover(Block& block);
  bool parse_result_names(std::vector<ResultNames>& names);
  bool parse_generic(Op& op);
  bool parse_generic_regions(Op& op);
  bool resolve_generic(Op& op, const std::vector<Token>& uses, const std::vector<Type>& inputs);
  bool parse_custom(Op& op, const Token& name);
  const OpInfo* lookup_op(const Token& name, std::string_view text, bool custom);
  bool name_results(Op& op, const std::vector<ResultNames>& names);
  void verify(const Op& op, const Token& where);
  void recover(const Mark& start);

  // parse_regions.cpp
  bool parse_block(Region& region, bool entry);
  bool parse_block_header(Region& region, bool entry, Block*& block);
  bool parse_block_body(Block& block);
  bool finish_labels(Labels& labels);
  Block* labelled_block(const Token& label);
  void add_argument(Block& block, const ArgumentDecl& decl);

  // scopes.cpp
  void define(const Token& name, Value* value, std::uint32_t count);
  Value* lookup(const Token& name, std::uint32_t number);
  Value* stand_in();
  std::size_t open_scope() const { return undo_.size(); }
  void close_scope(std::size_t size);

  std::string_view text_;
  std::string file_;
  Context& context_;
  Lexer lexer_;
  Token token_;
  Diagnostics diagnostics_, unknown_locations_;
  bool breaks_off_ = false;  ///< something was missing at the end of the text
  bool fatal_ = false;       ///< at the end of the text, or too many errors: no more of them
  int depth_ = 0;

  std::unordered_map<std::string_view, AliasEntry> hash_aliases_, bang_aliases_;
  std::unordered_map<std::string_view, Type> type_cache_;
  std::unordered_map<std::string_view, Definition> values_;
  std::vector<std::pair<std::string_view, Definition>> undo_;  ///< what a name meant before
  std::vector<std::unique_ptr<Value>> stand_ins_;
  Labels* labels_ = nullptr;
};

}  // namespace xpusim::kernel
