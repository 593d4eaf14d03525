#pragma once

// Protocol Buffers' wire format, as far as a trace needs it: varints, 64-bit fields and
// length-delimited fields (https://protobuf.dev/programming-guides/encoding). No schemas, no
// groups; 32-bit fields are only skipped.

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xpusim::trace {

enum class WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Appends the fields of one message to a byte string.
class ProtoWriter {
 public:
  void varint(std::uint32_t field, std::uint64_t value) {
    tag(field, WireType::kVarint);
    raw_varint(value);
  }
  void real(std::uint32_t field, double value) {
    tag(field, WireType::kFixed64);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_.push_back(static_cast<char>(bits >> shift & 0xff));
    }
  }
  void bytes(std::uint32_t field, std::string_view value) {
    tag(field, WireType::kBytes);
    raw_varint(value.size());
    bytes_.append(value);
  }
  void message(std::uint32_t field, const ProtoWriter& value) { bytes(field, value.bytes_); }

  const std::string& str() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void tag(std::uint32_t field, WireType type) {
    raw_varint(std::uint64_t{field} << 3 | static_cast<std::uint32_t>(type));
  }
  void raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

/// One field of a message: `number` of varints and fixed-size fields, `bytes` of the others.
struct ProtoField {
  std::uint32_t id = 0;
  WireType type = WireType::kVarint;
  std::uint64_t number = 0;
  std::string_view bytes;

  double real() const { return std::bit_cast<double>(number); }
};

/// Walks over the fields of a message. next() gives nothing at the end and at the first byte that
/// is not protobuf; ok() tells the two apart.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<ProtoField> next();
  bool ok() const { return ok_; }
  std::size_t position() const { return at_; }

 private:
  std::optional<std::uint64_t> raw_varint();
  std::optional<std::uint64_t> fixed(std::size_t size);

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace xpusim::trace
