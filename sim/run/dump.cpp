#include "sim/run/dump.h"

#include <fmt/format.h>

#include "sim/run/npy.h"

namespace xpusim::run {

Expected<Dump> parse_dump(const std::string& text) {
  const auto at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return fail({"--dump", 0, 0}, fmt::format("'{}' is not of the form tensor=file.npy", text));
  return Dump{text.substr(0, at), text.substr(at + 1)};
}

Expected<void> check_dumps(const std::vector<Dump>& dumps, const exec::DeviceMemory& memory,
                           bool values) {
  std::vector<std::string> names;
  for (const exec::Allocation& a : memory.allocations()) names.push_back(a.name);
  Diagnostics problems;
  for (const Dump& d : dumps) {
    const exec::Allocation* a = memory.find(std::string_view(d.tensor));
    if (!a)
      problems.error({"--dump", 0, 0}, fmt::format("no tensor '{}' in the workload{}", d.tensor,
                                                   did_you_mean(d.tensor, names)));
    else if (!values && kernel::is_float(a->dtype))
      problems.error({"--dump", 0, 0},
                     fmt::format("'{}' is {}: --values off computes no such values", d.tensor,
                                 kernel::name(a->dtype)));
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

Expected<void> write_dumps(const std::vector<Dump>& dumps, const exec::DeviceMemory& memory) {
  Diagnostics problems;
  for (const Dump& d : dumps) {
    const exec::Allocation& a = *memory.find(std::string_view(d.tensor));
    if (auto done = write_npy(d.file, memory, a); !done) problems.append(done.error());
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

}  // namespace xpusim::run
