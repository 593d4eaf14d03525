#include "models/network/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>
#include <optional>

namespace xpusim::network {
namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

const Axis* Topology::axis(const std::string& name) const {
  for (const Axis& a : axes_)
    if (a.name == name) return &a;
  return nullptr;
}

std::string Topology::wire_name(std::uint32_t wire) const {
  return node_name(wires_[wire].from) + "->" + node_name(wires_[wire].to);
}

std::uint16_t Topology::add_kind(const LinkParams& kind) {
  kinds_.push_back(kind);
  return static_cast<std::uint16_t>(kinds_.size() - 1);
}

void Topology::add_link(std::uint32_t a, std::uint32_t b, std::uint16_t kind, std::uint32_t lanes) {
  leaving_.resize(nodes_);
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    leaving_[from].push_back(static_cast<std::uint32_t>(wires_.size()));
    wires_.push_back({from, to, kind, static_cast<std::uint16_t>(lanes), true});
  }
}

std::uint32_t Topology::wire(std::uint32_t from, std::uint32_t to) const {
  for (const std::uint32_t w : leaving_[from])
    if (wires_[w].to == to) return w;
  return kFar;
}

std::vector<Route> Topology::routes(std::uint32_t from, std::uint32_t to) const {
  std::vector<Route> out = usual_routes(from, to);
  if (depth_.empty()) return out;
  std::erase_if(out, [&](const Route& r) {
    return std::any_of(r.hops.begin(), r.hops.end(), [&](Hop h) { return !wires_[h.wire].up; });
  });
  if (out.empty()) out.push_back(detour(from, to));
  return out;
}

std::int64_t Topology::switch_beside(std::uint32_t, std::uint32_t) const { return -1; }

Expected<std::uint32_t> Topology::node_of(const std::string& text, std::uint32_t beside,
                                          const std::string& link) const {
  const bool is_switch = text.starts_with('s');
  const auto n = number(is_switch ? std::string_view(text).substr(1) : std::string_view(text));
  std::int64_t node = -1;
  if (n) node = is_switch ? switch_beside(beside, *n) : *n < chips_ ? std::int64_t{*n} : -1;
  if (node >= 0) return static_cast<std::uint32_t>(node);
  return fail({}, fmt::format("down: '{}' in '{}' is none of this network's {} chips or a "
                              "switch of the chip before it",
                              text, link, chips_));
}

Expected<void> Topology::take_down(const std::vector<std::string>& links) {
  for (const std::string& link : links) {
    const auto dash = link.find('-');
    if (dash == std::string::npos)
      return fail({}, fmt::format("down: '{}' is no link, such as '3-4' or '3-s1'", link));
    const auto a = node_of(link.substr(0, dash), 0, link);
    if (!a) return fail(a.error());
    const auto b = node_of(link.substr(dash + 1), *a, link);
    if (!b) return fail(b.error());
    const std::uint32_t there = wire(*a, *b), back = wire(*b, *a);
    if (there == kFar)
      return fail({}, fmt::format("down: no link joins {} and {}", node_name(*a), node_name(*b)));
    wires_[there].up = wires_[back].up = false;
  }
  return links.empty() ? Expected<void>{} : plan_detours();
}

/// Breadth first from chip 0: the depth orders nodes into up and down.
Expected<void> Topology::plan_detours() {
  depth_.assign(nodes_, kFar);
  depth_[0] = 0;
  std::deque<std::uint32_t> next = {0};
  for (; !next.empty(); next.pop_front())
    for (const std::uint32_t w : leaving_[next.front()])
      if (wires_[w].up && depth_[wires_[w].to] == kFar) {
        depth_[wires_[w].to] = depth_[next.front()] + 1;
        next.push_back(wires_[w].to);
      }
  for (std::uint32_t chip = 0; chip < chips_; ++chip)
    if (depth_[chip] == kFar)
      return fail({}, fmt::format("down: without these links nothing goes from {} to {}",
                                  node_name(0), node_name(chip)));
  return {};
}

/// The shortest way of links towards the root (smaller depth; of equals, smaller number) followed
/// by links away from it. States: (node, whether it already goes down).
Route Topology::detour(std::uint32_t from, std::uint32_t to) const {
  const auto goes_up = [&](const Wire& w) {
    return std::pair(depth_[w.to], w.to) < std::pair(depth_[w.from], w.from);
  };
  std::vector<std::uint32_t> came(std::size_t{2} * nodes_, kFar);  ///< wire into a state
  std::vector<std::uint32_t> before(std::size_t{2} * nodes_, kFar);
  std::deque<std::uint32_t> next = {2 * from};
  before[2 * from] = 2 * from;
  std::uint32_t end = kFar;
  for (; !next.empty() && end == kFar; next.pop_front()) {
    const std::uint32_t state = next.front();
    for (const std::uint32_t w : leaving_[state / 2]) {
      const bool up = goes_up(wires_[w]);
      const std::uint32_t then = 2 * wires_[w].to + (up ? 0 : 1);
      if (!wires_[w].up || (state % 2 == 1 && up) || before[then] != kFar) continue;
      before[then] = state;
      came[then] = w;
      next.push_back(then);
      if (wires_[w].to == to) {
        end = then;
        break;
      }
    }
  }
  Route route;
  for (std::uint32_t s = end; s != 2 * from; s = before[s])
    route.hops.push_back({came[s], kDetourChannel});
  std::reverse(route.hops.begin(), route.hops.end());
  return route;
}

Expected<std::unique_ptr<Topology>> Topology::make(const NetworkParams& params) {
  std::unique_ptr<Topology> made;
  const bool torus = params.topology == "torus";
  if (!torus && params.topology != "switched")
    return fail({}, fmt::format("topology: '{}' is neither torus nor switched", params.topology));
  Diagnostics problems;
  if (torus) {
    const TorusParams& t = params.torus;
    const auto check = [&](const char* axis, std::int64_t size, std::int64_t largest) {
      if (size > largest)
        problems.error({}, fmt::format("torus.{}: {} chips, but a pod has {} along {}", axis, size,
                                       largest, axis));
    };
    check("x", t.x, t.largest_x);
    check("y", t.y, t.largest_y);
    check("z", t.z, t.largest_z);
    if (t.x * t.y * t.z > (1 << 20)) problems.error({}, "torus: more than 1048576 chips");
    if (problems.has_errors()) return fail(problems);
    made = make_torus(t);
  } else {
    const SwitchedParams& s = params.switched;
    if (s.link.lanes < s.switches)
      return fail({}, fmt::format("switched.link.lanes: {} lanes for {} switches", s.link.lanes,
                                  s.switches));
    made = make_switched(s);
  }
  const EndpointParams& e = params.endpoint;
  if (e.ring_chunk % e.ring_slice != 0)
    return fail({}, fmt::format("endpoint.ring_chunk: {} steps are not whole slices "
                                "of {}",
                                e.ring_chunk, e.ring_slice));
  for (const LinkParams& kind : made->kinds()) {
    const auto unsigned_of = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    const std::uint64_t wire = wire_bytes(unsigned_of(params.chunk), unsigned_of(kind.flit),
                                          unsigned_of(kind.packet), unsigned_of(kind.header));
    if (wire > unsigned_of(kind.buffer))
      return fail({}, fmt::format("chunk: a chunk of {} bytes takes {} bytes of a "
                                  "link's buffer, which has {}",
                                  params.chunk, wire, kind.buffer));
  }
  if (auto done = made->take_down(params.down); !done) return fail(done.error());
  return made;
}

Expected<std::unique_ptr<Topology>> make_topology(const NetworkParams& params,
                                                  std::string_view path) {
  auto made = Topology::make(params);
  if (made) return made;
  Diagnostics named;
  for (Diagnostic d : made.error().list()) {
    d.message = fmt::format("{}.{}", path, d.message);
    named.add(std::move(d));
  }
  return fail(named);
}

}  // namespace xpusim::network
