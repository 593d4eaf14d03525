#include "sim/run/large_pages.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace xpusim::run {

void use_large_pages() {
  constexpr int kLargestInHeap = 32 << 20;  // bytes: the most that the C library can be told
  constexpr int kRoom = 512 << 20;          // bytes of addresses, not of memory
  constexpr std::uintptr_t kPage = 2 << 20;
  const auto at = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  ::mallopt(M_MMAP_THRESHOLD, kLargestInHeap);
  ::mallopt(M_TRIM_THRESHOLD, kRoom);
  ::mallopt(M_TOP_PAD, kRoom);
  // The heap grows now, by all of the room: what is said of addresses holds for those it has.
  void* volatile grows = std::malloc(kLargestInHeap - kPage);
  std::free(grows);
  const auto first = (at + kPage - 1) / kPage * kPage;
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0)) / kPage * kPage;
  if (end > first) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace xpusim::run
