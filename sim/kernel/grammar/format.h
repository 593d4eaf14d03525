#pragma once

// The format language in which most custom assembly forms are declared, so that reading and
// printing come from one line:
//
//   $ptr ( `,` $mask^ )? ( `cacheModifier` `=` $cache:cache_modifier^ )? attr-dict `:` type($ptr)
//
//   `,`  `to`            a literal; `` prints no space between two elements
//   $x                   an operand group by its name, else an attribute in its own syntax
//   $x:style             an attribute written in another way: a keyword of an enumeration
//   (enums.h), or
//                          i32, i64 a bare number;  symbol @f;  string "s";  type T;  unit nothing
//                          at all; i32_list, i64_list [1, 0];  #arith.fastmath the parameters of
//                          that dialect attribute
//   ( ... $x^ ... )?     optional: printed if x is there, read if the text goes on as it begins
//   type($x)             the type of a group (commas between the types of a variadic one)
//   params($x)           the same of a pointer, a descriptor or a memdesc, without its mnemonic:
//                          <f32>, <128x64xbf16, #shared, #smem>; reads either
//   signature            (types of the operands) -> types of the results
//   region               the next region in braces
//   attr-dict            all other attributes in braces, if there are any
//
// Types that no directive reads follow from the op's type rules. Spaces are printed as MLIR prints
// them.

#include <memory>

#include "sim/kernel/grammar/grammar.h"
#include "sim/kernel/op_info.h"

namespace xpusim::kernel {

/// The grammar of `info.format`. `info` must outlive it; a malformed format is a bug in a
/// definition and ends the process with its text.
std::unique_ptr<OpGrammar> make_format_grammar(const OpInfo& info);

}  // namespace xpusim::kernel
