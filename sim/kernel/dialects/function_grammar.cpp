#include "sim/kernel/dialects/function_grammar.h"

#include "sim/kernel/printer/printer.h"
#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {
namespace {

const std::string kElided[] = {"sym_name", "sym_visibility", "function_type", "arg_attrs",
                               "res_attrs"};

/// The parameters; a declaration without body may leave out their names.
bool parse_parameters(Parser& p, std::vector<ArgumentDecl>& args, bool& named) {
  if (!p.expect("(", "before the parameters of a function")) return false;
  named = true;
  while (!p.at(")")) {
    if (!args.empty() && !p.expect(",", "between parameters")) return false;
    ArgumentDecl& decl = args.emplace_back();
    if (p.at(TokenKind::kPercent)) {
      if (!p.parse_argument_decl(decl, true)) return false;
      continue;
    }
    named = false;
    decl.name = p.token();
    if (!(decl.type = p.parse_type())) return false;
    NamedAttrs attrs;
    if (!p.parse_optional_attr_dict(attrs)) return false;
    if (!attrs.empty()) decl.attrs = p.context().dictionary(std::move(attrs));
  }
  p.advance();
  return true;
}

bool parse_results(Parser& p, std::vector<Type>& types, std::vector<Attr>& attrs) {
  if (!p.accept("->")) return true;
  if (!p.accept("(")) {
    const Type type = p.parse_type();
    if (type) types.push_back(type), attrs.push_back(nullptr);
    return type != nullptr;
  }
  while (!p.at(")")) {
    if (!types.empty() && !p.expect(",", "between result types")) return false;
    const Type type = p.parse_type();
    NamedAttrs fields;
    if (!type || !p.parse_optional_attr_dict(fields)) return false;
    types.push_back(type);
    attrs.push_back(fields.empty() ? nullptr : p.context().dictionary(std::move(fields)));
  }
  p.advance();
  return true;
}

/// Adds an array of the dictionaries under `key` if any is there.
void add_dictionaries(Context& context, Op& op, const char* key, std::vector<Attr> attrs) {
  bool any = false;
  for (Attr& attr : attrs) {
    any = any || attr;
    if (!attr) attr = context.dictionary({});
  }
  if (any) op.attrs.emplace_back(key, context.array(std::move(attrs)));
}

Attr dictionary_of(const Op& op, std::string_view key, std::size_t i) {
  const Attr all = op.attr(key);
  return all && i < all->elements.size() ? all->elements[i] : nullptr;
}

}  // namespace

bool FunctionGrammar::parse(Parser& p, Op& op) const {
  Context& c = p.context();
  std::string visibility, symbol;
  for (const auto word : {"public", "private", "nested"}) {
    if (p.accept(word)) visibility = word;
  }
  if (!p.parse_symbol(symbol)) return false;
  op.attrs.emplace_back("sym_name", c.string(std::move(symbol)));
  if (!visibility.empty()) op.attrs.emplace_back("sym_visibility", c.string(visibility));

  std::vector<ArgumentDecl> args;
  std::vector<Type> inputs, results;
  std::vector<Attr> arg_attrs, result_attrs;
  bool named = true;
  if (!parse_parameters(p, args, named) || !parse_results(p, results, result_attrs)) return false;
  for (const ArgumentDecl& decl : args) {
    inputs.push_back(decl.type);
    arg_attrs.push_back(decl.attrs);
  }
  op.attrs.emplace_back("function_type",
                        c.type_attr(c.function(std::move(inputs), std::move(results))));
  add_dictionaries(c, op, "arg_attrs", std::move(arg_attrs));
  add_dictionaries(c, op, "res_attrs", std::move(result_attrs));
  if (p.accept("attributes") && !p.parse_attr_dict(op.attrs)) return false;
  if (!p.at("{")) {
    op.regions.push_back(std::make_unique<Region>());
    op.regions.back()->parent = &op;
    return true;
  }
  if (!named)
    return p.error(p.token(),
                   "a function with a body needs names for its parameters, such as %x: f32");
  return p.parse_region(op, std::move(args), true);
}

void FunctionGrammar::print(Printer& p, const Op& op) const {
  std::string& out = p.out();
  out += ' ';
  if (const auto visibility = op.str_attr("sym_visibility"); !visibility.empty()) {
    out += visibility;
    out += ' ';
  }
  spell_symbol(out, op.str_attr("sym_name"));
  out += '(';
  const Region& body = *op.regions[0];
  const TypeData& type = *op.attr("function_type")->type;
  for (std::size_t i = 0; i < type.inputs.size(); ++i) {
    if (i) out += ", ";
    const Attr attrs = dictionary_of(op, "arg_attrs", i);
    if (!body.blocks.empty()) {
      p.argument(*body.blocks[0]->args[i], attrs);
      continue;
    }
    p.type(type.inputs[i]);
    if (attrs && !attrs->fields.empty()) out += ' ', p.attr(attrs);
  }
  out += ')';
  if (!type.results.empty()) {
    out += " -> ";
    const bool plain = type.results.size() == 1 && !op.attr("res_attrs");
    if (!plain) out += '(';
    for (std::size_t i = 0; i < type.results.size(); ++i) {
      if (i) out += ", ";
      p.type(type.results[i]);
      if (const Attr attrs = dictionary_of(op, "res_attrs", i); attrs && !attrs->fields.empty())
        out += ' ', p.attr(attrs);
    }
    if (!plain) out += ')';
  }
  p.attr_dict(op, kElided, "attributes");
  if (body.blocks.empty()) return;
  out += ' ';
  p.region(body, false);
}

std::string verify_function(const Op& op) {
  const Attr type = op.attr("function_type");
  if (!op.attr("sym_name") || op.attr("sym_name")->kind != AttrKind::kString)
    return "needs a name, the attribute 'sym_name'";
  if (!type || type->kind != AttrKind::kType || type->type->kind != TypeKind::kFunction)
    return "needs a type, the attribute 'function_type'";
  if (op.regions.size() != 1) return "needs one region, its body";
  if (op.regions[0]->blocks.empty()) return "";
  const Block& entry = *op.regions[0]->blocks[0];
  const auto& inputs = type->type->inputs;
  if (entry.args.size() != inputs.size()) {
    return "has " + std::to_string(inputs.size()) + " parameters in its type, but " +
           std::to_string(entry.args.size()) + " in its body";
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (entry.args[i]->type != inputs[i])
      return "has a parameter '%" + entry.args[i]->name + "' of type '" +
             entry.args[i]->type->text + "', its type says '" + inputs[i]->text + "'";
  }
  for (const auto& block : op.regions[0]->blocks) {
    if (block->ops.empty() || !block->ops.back()->info->has(kTerminator))
      return "has a block that does not end with a return or a branch";
    const Op& last = *block->ops.back();
    if (last.name() != "tt.return" && last.name() != "func.return") continue;
    const auto& results = type->type->results;
    bool same = last.operands.size() == results.size();
    for (std::size_t i = 0; same && i < results.size(); ++i)
      same = last.operands[i]->type == results[i];
    if (!same)
      return "returns other types at line " + std::to_string(last.text.line) +
             " than its type says";
  }
  return "";
}

}  // namespace xpusim::kernel
