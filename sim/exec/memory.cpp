#include "sim/exec/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "sim/exec/generator.h"

namespace xpusim::exec {
namespace {

constexpr std::uint64_t kFirstAddress = 1 << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Host memory that may go to pages which are read again and again, so that their generator need
/// not run each time.
constexpr std::uint64_t kKeptBytes = std::uint64_t{256} << 20;

/// The pages of one allocation that exist: those written, and some that are read often. Null where
/// the generator's values stand.
struct Pages {
  std::vector<std::unique_ptr<std::byte[]>> bytes;
  std::vector<std::uint32_t> generated;  ///< bytes that reads have had generated, a page
  std::vector<std::unique_ptr<std::vector<bool>>> written;  ///< a bit a byte, of kUnwritten tensors
};

}  // namespace

struct DeviceMemory::Contents {
  std::uint64_t resident = 0, kept = 0;
  std::vector<Pages> pages;
};

struct DeviceMemory::Impl {
  std::uint64_t capacity = 0;
  std::uint64_t used = 0;  ///< of the capacity, without guards
  std::uint64_t next = kFirstAddress;
  std::uint64_t resident = 0;
  std::uint64_t kept = 0;               ///< of pages that exist for being read
  std::vector<Allocation> allocations;  ///< by address, since it only grows
  std::vector<Pages> pages;
  mutable std::size_t last = 0;

  /// The index of the last allocation that begins at or before an address, or -1.
  std::ptrdiff_t before(std::uint64_t address) const {
    auto it = std::upper_bound(allocations.begin(), allocations.end(), address,
                               [](std::uint64_t a, const Allocation& x) { return a < x.address; });
    return it - allocations.begin() - 1;
  }
  static bool holds(const Allocation& a, std::uint64_t address) {
    return address - a.address < a.bytes;
  }
  /// The index of the allocation that holds an address, or -1.
  std::ptrdiff_t index_of(std::uint64_t address) const {
    if (last < allocations.size() && holds(allocations[last], address)) {
      return static_cast<std::ptrdiff_t>(last);
    }
    const std::ptrdiff_t i = before(address);
    if (i < 0 || !holds(allocations[static_cast<std::size_t>(i)], address)) return -1;
    last = static_cast<std::size_t>(i);
    return i;
  }
  /// The same for a range that has to lie inside one allocation.
  std::size_t inside(std::uint64_t address, std::uint64_t size) const {
    const std::ptrdiff_t i = index_of(address);
    if (i >= 0) {
      const Allocation& a = allocations[static_cast<std::size_t>(i)];
      if (size <= a.bytes - (address - a.address)) return static_cast<std::size_t>(i);
    }
    fmt::print(stderr, "exec.memory: unchecked access of {} B at address {:#x}\n", size, address);
    std::abort();
  }

  void generate_bytes(const Allocation& a, std::uint64_t offset, std::byte* out,
                      std::uint64_t size) const;
  std::byte* writable_page(std::size_t index, std::uint64_t page);
  std::vector<Pages> copy(const std::vector<Pages>& from) const;
  void read(std::size_t index, std::uint64_t offset, std::byte* out, std::uint64_t size);
  bool is_worth_keeping(std::size_t index, std::uint64_t page, std::uint64_t bytes);
  void write(std::size_t index, std::uint64_t offset, const std::byte* in, std::uint64_t size);
};

/// Bytes as the generator says; a range may begin or end inside an element.
void DeviceMemory::Impl::generate_bytes(const Allocation& a, std::uint64_t offset, std::byte* out,
                                        std::uint64_t size) const {
  const auto element = static_cast<std::uint64_t>(kernel::byte_size(a.dtype));
  std::byte whole[16];
  if (const std::uint64_t skip = offset % element; skip != 0) {
    generate(a.init, a.dtype, offset / element, 1, whole);
    const std::uint64_t n = std::min(size, element - skip);
    std::memcpy(out, whole + skip, n);
    out += n, offset += n, size -= n;
  }
  const std::uint64_t count = size / element;
  generate(a.init, a.dtype, offset / element, count, out);
  if (const std::uint64_t rest = size % element; rest != 0) {
    generate(a.init, a.dtype, offset / element + count, 1, whole);
    std::memcpy(out + count * element, whole, rest);
  }
}

std::byte* DeviceMemory::Impl::writable_page(std::size_t index, std::uint64_t page) {
  auto& bytes = pages[index].bytes[page];
  if (!bytes) {
    const Allocation& a = allocations[index];
    const std::uint64_t begin = page * kPageBytes;
    const std::uint64_t size = std::min(kPageBytes, a.bytes - begin);
    bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    generate_bytes(a, begin, bytes.get(), size);
    resident += size;
    if (a.init.kind == Init::Kind::kUnwritten) {
      pages[index].written[page] = std::make_unique<std::vector<bool>>(size);
    }
  }
  return bytes.get();
}

std::vector<Pages> DeviceMemory::Impl::copy(const std::vector<Pages>& from) const {
  std::vector<Pages> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i].generated = from[i].generated;
    to[i].bytes.resize(from[i].bytes.size());
    for (std::size_t page = 0; page < from[i].bytes.size(); ++page) {
      if (!from[i].bytes[page]) continue;
      const std::uint64_t size = std::min(kPageBytes, allocations[i].bytes - page * kPageBytes);
      to[i].bytes[page] = std::make_unique_for_overwrite<std::byte[]>(size);
      std::memcpy(to[i].bytes[page].get(), from[i].bytes[page].get(), size);
    }
    for (const auto& bits : from[i].written) {
      to[i].written.push_back(bits ? std::make_unique<std::vector<bool>>(*bits) : nullptr);
    }
  }
  return to;
}

void DeviceMemory::Impl::read(std::size_t index, std::uint64_t offset, std::byte* out,
                              std::uint64_t size) {
  while (size > 0) {
    const std::uint64_t page = offset / kPageBytes, at = offset % kPageBytes;
    const std::uint64_t n = std::min(size, kPageBytes - at);
    if (const std::byte* from = pages[index].bytes[page].get()) {
      std::memcpy(out, from + at, n);
    } else if (is_worth_keeping(index, page, n)) {
      std::memcpy(out, writable_page(index, page) + at, n);
    } else {
      generate_bytes(allocations[index], offset, out, n);
    }
    out += n, offset += n, size -= n;
  }
}

/// Whether a page that nobody wrote has been generated once over: then it is read more than once.
bool DeviceMemory::Impl::is_worth_keeping(std::size_t index, std::uint64_t page,
                                          std::uint64_t bytes) {
  const Init::Kind kind = allocations[index].init.kind;
  if (kind != Init::Kind::kRandn && kind != Init::Kind::kRandint) return false;
  std::uint32_t& generated = pages[index].generated[page];
  generated += static_cast<std::uint32_t>(bytes);
  if (generated <= kPageBytes || kept + kPageBytes > kKeptBytes) return false;
  kept += kPageBytes;
  return true;
}

void DeviceMemory::Impl::write(std::size_t index, std::uint64_t offset, const std::byte* in,
                               std::uint64_t size) {
  while (size > 0) {
    const std::uint64_t page = offset / kPageBytes, at = offset % kPageBytes;
    const std::uint64_t n = std::min(size, kPageBytes - at);
    std::memcpy(writable_page(index, page) + at, in, n);
    if (!pages[index].written.empty()) {
      auto& bits = *pages[index].written[page];
      std::fill_n(bits.begin() + static_cast<std::ptrdiff_t>(at), n, true);
    }
    in += n, offset += n, size -= n;
  }
}

DeviceMemory::DeviceMemory(std::uint64_t capacity_bytes) : impl_(std::make_unique<Impl>()) {
  impl_->capacity = capacity_bytes;
}
DeviceMemory::~DeviceMemory() = default;

Expected<std::uint64_t> DeviceMemory::allocate(std::string name, DType dtype,
                                               std::vector<std::int64_t> shape, Init init) {
  const auto element = static_cast<std::uint64_t>(kernel::byte_size(dtype));
  std::uint64_t bytes = element;
  for (const std::int64_t s : shape) {
    if (s < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(s), &bytes)) {
      return fail({}, fmt::format("tensor '{}' has a shape that no memory holds: [{}]", name,
                                  fmt::join(shape, ", ")));
    }
  }
  const std::uint64_t room = impl_->capacity - impl_->used;
  if (bytes > room) {
    return fail({}, fmt::format("tensor '{}' needs {} B of device memory; {} B of {} B are free",
                                name, bytes, room, impl_->capacity));
  }
  if (find(name)) return fail({}, fmt::format("tensor '{}' is allocated twice", name));
  if (init.kind == Init::Kind::kData && (!init.data || init.data->size() != bytes)) {
    return fail({}, fmt::format("tensor '{}' takes {} B, but its data has {} B", name, bytes,
                                init.data ? init.data->size() : 0));
  }
  Impl& m = *impl_;
  const std::uint64_t address = m.next;
  m.next = round_up(address + bytes, kAlignment) + kGuardBytes;
  m.used += std::min(round_up(bytes, kAlignment), room);
  Pages pages;
  pages.bytes.resize((bytes + kPageBytes - 1) / kPageBytes);
  pages.generated.resize(pages.bytes.size());
  if (init.kind == Init::Kind::kUnwritten) pages.written.resize(pages.bytes.size());
  m.pages.push_back(std::move(pages));
  m.allocations.push_back(
      {std::move(name), dtype, std::move(shape), address, bytes, std::move(init)});
  return address;
}

const Allocation* DeviceMemory::find(std::uint64_t address) const {
  const std::ptrdiff_t i = impl_->index_of(address);
  return i < 0 ? nullptr : &impl_->allocations[static_cast<std::size_t>(i)];
}

const Allocation* DeviceMemory::find(std::string_view name) const {
  for (const Allocation& a : impl_->allocations) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

const std::vector<Allocation>& DeviceMemory::allocations() const { return impl_->allocations; }

void DeviceMemory::read(std::uint64_t address, std::span<std::byte> out) const {
  if (out.empty()) return;
  const std::size_t i = impl_->inside(address, out.size());
  impl_->read(i, address - impl_->allocations[i].address, out.data(), out.size());
}

void DeviceMemory::write(std::uint64_t address, std::span<const std::byte> in) {
  if (in.empty()) return;
  const std::size_t i = impl_->inside(address, in.size());
  impl_->write(i, address - impl_->allocations[i].address, in.data(), in.size());
}

void DeviceMemory::gather(std::span<const std::int64_t> addresses, std::size_t element_bytes,
                          std::byte* out) const {
  for (const std::int64_t a : addresses) {
    read(static_cast<std::uint64_t>(a), {out, element_bytes});
    out += element_bytes;
  }
}

void DeviceMemory::scatter(std::span<const std::int64_t> addresses, std::size_t element_bytes,
                           const std::byte* in) {
  for (const std::int64_t a : addresses) {
    write(static_cast<std::uint64_t>(a), {in, element_bytes});
    in += element_bytes;
  }
}

std::optional<std::uint64_t> DeviceMemory::first_unwritten(std::uint64_t address,
                                                           std::uint64_t bytes) const {
  const std::ptrdiff_t found = impl_->index_of(address);
  if (found < 0) return std::nullopt;
  const auto i = static_cast<std::size_t>(found);
  const Pages& pages = impl_->pages[i];
  if (pages.written.empty()) return std::nullopt;
  const std::uint64_t base = impl_->allocations[i].address;
  for (std::uint64_t offset = address - base; offset < address - base + bytes; ++offset) {
    const auto& bits = pages.written[offset / kPageBytes];
    if (!bits || !(*bits)[offset % kPageBytes]) return base + offset;
  }
  return std::nullopt;
}

const Allocation* DeviceMemory::nearest(std::uint64_t address) const {
  const auto& all = impl_->allocations;
  if (all.empty()) return nullptr;
  const std::ptrdiff_t i = impl_->before(address);
  if (i < 0) return &all.front();
  const Allocation& below = all[static_cast<std::size_t>(i)];
  if (static_cast<std::size_t>(i) + 1 == all.size()) return &below;
  const Allocation& above = all[static_cast<std::size_t>(i) + 1];
  const std::uint64_t end = below.address + below.bytes;
  const std::uint64_t past = address < end ? 0 : address - end;
  return past <= above.address - address ? &below : &above;
}

std::vector<double> DeviceMemory::as_doubles(const Allocation& a) const {
  const auto element = static_cast<std::size_t>(kernel::byte_size(a.dtype));
  std::vector<double> values(a.bytes / element);
  std::vector<std::byte> chunk(kPageBytes);
  for (std::uint64_t offset = 0; offset < a.bytes; offset += kPageBytes) {
    const std::uint64_t n = std::min(kPageBytes, a.bytes - offset);
    read(a.address + offset, {chunk.data(), n});
    for (std::uint64_t i = 0; i < n / element; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, chunk.data() + i * element, element);
      values[offset / element + i] = decode(a.dtype, bits);
    }
  }
  return values;
}

std::shared_ptr<const DeviceMemory::Contents> DeviceMemory::contents() const {
  auto contents = std::make_shared<Contents>();
  contents->resident = impl_->resident;
  contents->kept = impl_->kept;
  contents->pages = impl_->copy(impl_->pages);
  return contents;
}

void DeviceMemory::set_contents(const Contents& contents) {
  impl_->resident = contents.resident;
  impl_->kept = contents.kept;
  impl_->pages = impl_->copy(contents.pages);
}

std::uint64_t DeviceMemory::capacity() const { return impl_->capacity; }
std::uint64_t DeviceMemory::resident_bytes() const { return impl_->resident; }

}  // namespace xpusim::exec
