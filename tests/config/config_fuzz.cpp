// Any text read as a configuration and bound must give a value or problems, quickly and without a
// crash; what was read must print and read back as the same tree.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>

#include "sim/config/tree.h"

namespace {

using namespace xpusim;

struct Inner {
  std::vector<std::int64_t> sizes;
  std::optional<double> price;
  static constexpr auto schema() {
    using config::Unit;
    return std::tuple{config::field("a", &Inner::sizes, Unit::kBytes, "", 1, 1e9),
                      config::field("b", &Inner::price, Unit::kDollarsPerHour, "")};
  }
};

struct Outer {
  std::int64_t i = 0;
  std::uint64_t u = 0;
  double d = 0;
  bool f = false;
  std::string s;
  Inner inner;
  static constexpr auto schema() {
    using config::Unit;
    return std::tuple{config::field("i", &Outer::i, Unit::kCount, "", -10, 10),
                      config::field("u", &Outer::u, Unit::kHertz, ""),
                      config::field("d", &Outer::d, Unit::kNanoseconds, ""),
                      config::field("f", &Outer::f, Unit::kNone, ""),
                      config::field("s", &Outer::s, Unit::kNone, ""),
                      config::group("m", &Outer::inner, "")};
  }
};

/// YAML limits a key in one line to 1024 characters, quotes and escapes included.
bool keys_are_short(const config::Node& node) {
  for (const auto& item : node.items) {
    if (!keys_are_short(item)) return false;
  }
  for (const auto& [key, value] : node.entries) {
    if (key.size() > 200 || !keys_are_short(value)) return false;
  }
  return true;
}

bool same(const config::Node& a, const config::Node& b) {
  if (a.kind != b.kind || a.scalar != b.scalar || a.items.size() != b.items.size() ||
      a.entries.size() != b.entries.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    if (a.entries[i].first != b.entries[i].first) return false;
    if (!same(a.entries[i].second, b.entries[i].second)) return false;
  }
  return true;
}

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto node = config::read_yaml(text, "fuzz.yaml");
  if (!node) {
    check(node.error().has_errors());
    return 0;
  }
  Outer outer;
  Diagnostics problems;
  config::bind(&*node, "fuzz", outer, problems);
  check(outer.i >= -10 && outer.i <= 10);
  if (keys_are_short(*node)) {
    const auto again = config::read_yaml(config::to_yaml(*node), "again.yaml");
    check(again && same(*node, *again));
  }
  return 0;
}
