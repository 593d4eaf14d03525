#pragma once

// How types, attributes and locations are spelled: with all aliases expanded (their canonical text,
// which is also their identity), or with a module's alias names.

#include <string>
#include <string_view>
#include <unordered_map>

#include "sim/kernel/ir.h"

namespace xpusim::kernel {

/// The alias names of a module: `#blocked`, `#loc12`, `!mytype`.
struct AliasNames {
  std::unordered_map<Attr, std::string> attrs;
  std::unordered_map<Type, std::string> types;
  std::unordered_map<Loc, std::string> locs;
};

/// Appends a spelling to `out`; without `names` every alias is expanded. `spell_*_body` spell the
/// value itself even where it has an alias (what stands right of the `=` of an alias line).
void spell_type(std::string& out, Type type, const AliasNames* names);
void spell_type_body(std::string& out, const TypeData& type, const AliasNames* names);
/// The type without its `!ttg.memdesc` or `!tt.ptr` mnemonic: "<128x64xbf16, #shared, #smem>".
void spell_type_params(std::string& out, Type type, const AliasNames* names);
void spell_attr(std::string& out, Attr attr, const AliasNames* names);
void spell_attr_body(std::string& out, const AttrData& attr, const AliasNames* names);
/// "loc(...)".
void spell_loc(std::string& out, Loc loc, const AliasNames* names);
void spell_loc_body(std::string& out, const LocData& loc, const AliasNames* names);

/// "{a = 1 : i32, "b-c"}": the fields of a dictionary in braces.
void spell_fields(std::string& out, const std::vector<std::pair<std::string, Attr>>& fields,
                  const AliasNames* names);
/// A field's key: bare, or quoted where it is no identifier.
void spell_key(std::string& out, std::string_view key);
/// A string in quotes, with MLIR's escapes.
void spell_string(std::string& out, std::string_view text);
void spell_symbol(std::string& out, std::string_view symbol);

bool is_identifier(std::string_view text);

}  // namespace xpusim::kernel
