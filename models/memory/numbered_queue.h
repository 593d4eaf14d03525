#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xpusim::memory {

/// First in, first out; each element keeps its number while it is in the queue. Those that came one
/// after another lie side by side, so that nobody waits for the host's memory to take them out.
template <class T>
class NumberedQueue {
 public:
  bool empty() const { return first_ == end_; }
  std::uint32_t size() const { return (end_ - first_) & kNumbers; }
  std::uint32_t first() const { return first_; }
  T& operator[](std::uint32_t number) { return slots_[number & (slots_.size() - 1)]; }
  const T& operator[](std::uint32_t number) const { return slots_[number & (slots_.size() - 1)]; }

  /// Returns the number of the new element.
  std::uint32_t push(const T& element) {
    if (size() + 1 == slots_.size()) grow();
    const std::uint32_t number = end_;
    (*this)[number] = element;
    end_ = after(number);
    return number;
  }
  void pop() { first_ = after(first_); }

 private:
  static constexpr std::uint32_t kNumbers = 0x7fff'ffff;  ///< they begin again after that
  static std::uint32_t after(std::uint32_t number) { return (number + 1) & kNumbers; }

  void grow() {
    std::vector<T> more(slots_.size() * 2);
    for (std::uint32_t n = first_; n != end_; n = after(n)) {
      more[n & (more.size() - 1)] = (*this)[n];
    }
    slots_.swap(more);
  }

  std::vector<T> slots_ = std::vector<T>(64);  ///< a power of two of them
  std::uint32_t first_ = 0, end_ = 0;
};

}  // namespace xpusim::memory
