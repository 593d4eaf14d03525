#include <deque>
#include <unordered_map>

#include "sim/kernel/ir.h"
#include "sim/kernel/text/float_text.h"
#include "sim/kernel/text/spelling.h"

namespace xpusim::kernel {
namespace {

/// Owns values and finds them by their text; addresses are stable.
template <class Data>
class Interner {
 public:
  const Data* intern(Data data) {
    if (const auto it = by_text_.find(data.text); it != by_text_.end()) return it->second;
    const Data& kept = kept_.emplace_back(std::move(data));
    by_text_.emplace(kept.text, &kept);
    return &kept;
  }

 private:
  std::deque<Data> kept_;
  std::unordered_map<std::string_view, const Data*> by_text_;
};

}  // namespace

struct Context::Impl {
  Interner<TypeData> types;
  Interner<AttrData> attrs;
  Interner<LocData> locs;
  Type scalars[15] = {};
  Loc unknown = nullptr;
};

Context::Context() : impl_(std::make_unique<Impl>()) {}
Context::~Context() = default;

Type Context::type(TypeData data) {
  if (data.text.empty()) spell_type_body(data.text, data, nullptr);
  return impl_->types.intern(std::move(data));
}

Attr Context::attr(AttrData data) {
  if (data.text.empty()) spell_attr_body(data.text, data, nullptr);
  return impl_->attrs.intern(std::move(data));
}

Loc Context::loc(LocData data) {
  if (data.text.empty()) {
    data.text = "loc(";
    spell_loc_body(data.text, data, nullptr);
    data.text += ')';
  }
  return impl_->locs.intern(std::move(data));
}

Type Context::scalar(DType d) {
  Type& cached = impl_->scalars[static_cast<std::size_t>(d)];
  if (!cached) {
    TypeData data;
    data.kind = d == DType::kNone ? TypeKind::kNone : TypeKind::kScalar;
    data.dtype = d;
    cached = type(std::move(data));
  }
  return cached;
}

Loc Context::unknown_loc() {
  if (!impl_->unknown) impl_->unknown = loc({});
  return impl_->unknown;
}

Type Context::pointer(Type pointee, Attr memory_space) {
  TypeData data;
  data.kind = TypeKind::kPointer;
  data.element = pointee;
  data.memory_space = memory_space;
  return type(std::move(data));
}

Type Context::tensor(std::vector<std::int64_t> shape, Type element, Attr encoding) {
  TypeData data;
  data.kind = TypeKind::kTensor;
  data.dtype = element->dtype;
  data.shape = std::move(shape);
  data.element = element;
  data.encoding = encoding;
  return type(std::move(data));
}

Type Context::vector(std::vector<std::int64_t> shape, Type element) {
  TypeData data;
  data.kind = TypeKind::kVector;
  data.dtype = element->dtype;
  data.shape = std::move(shape);
  data.element = element;
  return type(std::move(data));
}

Type Context::function(std::vector<Type> inputs, std::vector<Type> results) {
  TypeData data;
  data.kind = TypeKind::kFunction;
  data.inputs = std::move(inputs);
  data.results = std::move(results);
  return type(std::move(data));
}

Type Context::token() {
  TypeData data;
  data.kind = TypeKind::kToken;
  data.text = "!ttg.async.token";
  return type(std::move(data));
}

Type Context::like(Type shaped, Type element) {
  if (!shaped->is_shaped()) return element;
  TypeData data = *shaped;
  data.text.clear();
  data.element = element;
  data.dtype = element->dtype;
  return type(std::move(data));
}

Attr Context::unit() { return attr({}); }

Attr Context::boolean(bool v) {
  AttrData data;
  data.kind = AttrKind::kBool;
  data.integer = v;
  data.type = scalar(DType::kI1);
  return attr(std::move(data));
}

Attr Context::integer(std::int64_t v, Type type) {
  if (type && type->dtype == DType::kI1) return boolean(v != 0);
  AttrData data;
  data.kind = AttrKind::kInteger;
  data.integer = v;
  data.type = type;
  return attr(std::move(data));
}

Attr Context::real(double v, Type type) {
  AttrData data;
  data.kind = AttrKind::kFloat;
  data.integer = static_cast<std::int64_t>(float_to_bits(v, type->dtype));
  data.real = float_from_bits(static_cast<std::uint64_t>(data.integer), type->dtype);
  data.type = type;
  return attr(std::move(data));
}

Attr Context::string(std::string v) {
  AttrData data;
  data.kind = AttrKind::kString;
  data.string = std::move(v);
  return attr(std::move(data));
}

Attr Context::symbol(std::string v) {
  AttrData data;
  data.kind = AttrKind::kSymbol;
  data.string = std::move(v);
  return attr(std::move(data));
}

Attr Context::array(std::vector<Attr> elements) {
  AttrData data;
  data.kind = AttrKind::kArray;
  data.elements = std::move(elements);
  return attr(std::move(data));
}

Attr Context::dictionary(std::vector<std::pair<std::string, Attr>> fields) {
  AttrData data;
  data.kind = AttrKind::kDictionary;
  data.fields = std::move(fields);
  return attr(std::move(data));
}

Attr Context::int_array(std::vector<std::int64_t> values, Type element) {
  AttrData data;
  data.kind = AttrKind::kDenseArray;
  data.ints = std::move(values);
  data.type = element;
  return attr(std::move(data));
}

Attr Context::type_attr(Type type) {
  AttrData data;
  data.kind = AttrKind::kType;
  data.type = type;
  return attr(std::move(data));
}

}  // namespace xpusim::kernel
