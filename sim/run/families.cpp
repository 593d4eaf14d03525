#include <fmt/format.h>

#include "sim/run/machine.h"

namespace xpusim::run {
namespace {
std::vector<Family>& registry() {
  static std::vector<Family> list;
  return list;
}
}  // namespace

Expected<LaunchReport> Machine::collective(const CollectiveLaunch& launch,
                                           std::span<exec::DeviceMemory* const>,
                                           const LaunchOptions&) {
  return fail(accepts_collective(launch).error());
}

Expected<void> Machine::accepts_collective(const CollectiveLaunch& launch) const {
  return fail(launch.spec.where,
              fmt::format("{} is one chip: a collective needs a system of several, "
                          "such as --on tpu_v5e_4x4",
                          name()));
}

Expected<LaunchReport> Machine::launch_joined(const exec::Launch& launch,
                                              std::span<exec::DeviceMemory* const>,
                                              const Interconnect&, const LaunchOptions&) {
  return fail(launch.function->op->line(),
              fmt::format("kernels that talk to other chips do not run on {} yet", name()));
}

void register_family(Family family) { registry().push_back(std::move(family)); }

const std::vector<Family>& families() { return registry(); }

const Family* find_family(std::string_view name) {
  for (const auto& f : registry())
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace xpusim::run
