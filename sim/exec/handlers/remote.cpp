#include "sim/exec/handlers/remote.h"

#include <fmt/format.h>

#include "sim/exec/dense.h"
#include "sim/exec/handlers/copies.h"
#include "sim/exec/handlers/semaphores.h"

namespace xpusim::exec {
namespace {

/// This device's own memory at the place that another one means by a view.
View own_place(Frame& f, const View& theirs) {
  View own = theirs;
  if (theirs.address != 0) return own;  // tensors lie at the same addresses everywhere
  const std::size_t arguments = f.code->arguments.size();
  own.bytes = theirs.argument < arguments
                  ? f.views[f.code->arguments[theirs.argument]].bytes
                  : std::span<std::byte>(f.shared[theirs.argument - arguments]);
  return own;
}

}  // namespace

std::optional<std::uint32_t> device_of(Frame& f, const Instruction& in, std::size_t device_operand,
                                       std::size_t core_operand, std::string_view what) {
  const bool names_device = f.has(in, device_operand), names_core = f.has(in, core_operand);
  if (!names_device && !names_core) return f.device;
  if (f.devices == 1) {
    f.fail(in, fmt::format("{} to another device or core: the executor runs one core of one chip",
                           what));
    return std::nullopt;
  }
  if (names_core && f.operand(in, core_operand).bits != 0) {
    f.fail(in, fmt::format("{} to core {}: only those to the first core are modelled", what,
                           f.operand(in, core_operand).bits));
    return std::nullopt;
  }
  const std::int64_t device = names_device ? f.operand(in, device_operand).bits : f.device;
  if (device >= 0 && device < f.devices) return static_cast<std::uint32_t>(device);
  f.fail(in, fmt::format("{} to device {}: there are {}, from 0", what, device, f.devices));
  return std::nullopt;
}

void receive(Frame& f, const Outgoing& what) {
  if (what.copy && !what.data.empty()) {
    const View own = own_place(f, what.target);
    if (holds_payload(f, own)) write_view(f, own, what.data);
  }
  semaphore_count(f, what.semaphore) += what.amount;
}

}  // namespace xpusim::exec
