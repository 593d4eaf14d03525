#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {

std::string shape_text(Type type) {
  std::string out = "[";
  for (std::size_t i = 0; i < type->shape.size(); ++i) {
    if (i) out += ", ";
    out += type->shape[i] == kDynamic ? std::string("?") : std::to_string(type->shape[i]);
  }
  return out + "]";
}

std::string check_broadcast(Type source, Type result) {
  bool fine = source->shape.size() == result->shape.size();
  for (std::size_t i = 0; fine && i < source->shape.size(); ++i) {
    fine = source->shape[i] == result->shape[i] || source->shape[i] == 1;
  }
  if (fine) return "";
  return "cannot broadcast shape " + shape_text(source) + " to " + shape_text(result);
}

std::string check_same_shape(Type a, Type b, std::string_view what_a, std::string_view what_b) {
  if (a->shape == b->shape) return "";
  return "needs '" + std::string(what_a) + "' and '" + std::string(what_b) +
         "' of the same shape, they have " + shape_text(a) + " and " + shape_text(b);
}

std::string check_same_element(Type a, Type b, std::string_view what_a, std::string_view what_b) {
  const Type ea = a->is_shaped() ? a->element : a;
  const Type eb = b->is_shaped() ? b->element : b;
  if (ea == eb) return "";
  return "needs '" + std::string(what_a) + "' and '" + std::string(what_b) +
         "' of the same element type, they have '" + ea->text + "' and '" + eb->text + "'";
}

std::string check_same_frame(Type a, Type b) {
  if (a->is_shaped() == b->is_shaped() && a->shape == b->shape && a->encoding == b->encoding)
    return "";
  return "needs operand and result of the same shape and layout, they are '" + a->text + "' and '" +
         b->text + "'";
}

std::string check_same_count(Type a, Type b) {
  if (a->count() == b->count()) return "";
  return "cannot turn " + std::to_string(a->count()) + " elements into " +
         std::to_string(b->count());
}

std::string check_has_attr(const Op& op, std::string_view key) {
  return op.attr(key) ? "" : "needs the attribute '" + std::string(key) + "'";
}

}  // namespace xpusim::kernel
