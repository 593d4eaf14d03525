#include "sim/trace/protobuf.h"

namespace xpusim::trace {

std::optional<std::uint64_t> ProtoReader::raw_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
    if (shift == 63 && byte > 1) return std::nullopt;  // more than 64 bits
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ProtoReader::fixed(std::size_t size) {
  if (bytes_.size() - at_ < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<std::uint8_t>(bytes_[at_++])} << (8 * i);
  }
  return value;
}

std::optional<ProtoField> ProtoReader::next() {
  if (!ok_ || at_ == bytes_.size()) return std::nullopt;
  ok_ = false;
  const auto tag = raw_varint();
  if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return std::nullopt;
  ProtoField field;
  field.id = static_cast<std::uint32_t>(*tag >> 3);
  field.type = static_cast<WireType>(*tag & 7);
  std::optional<std::uint64_t> number;
  switch (field.type) {
    case WireType::kVarint:
    case WireType::kBytes:
      number = raw_varint();
      break;
    case WireType::kFixed64:
      number = fixed(8);
      break;
    case WireType::kFixed32:
      number = fixed(4);
      break;
  }
  if (!number) return std::nullopt;
  field.number = *number;
  if (field.type == WireType::kBytes) {
    if (*number > bytes_.size() - at_) return std::nullopt;
    field.bytes = bytes_.substr(at_, *number);
    at_ += *number;
  }
  ok_ = true;
  return field;
}

}  // namespace xpusim::trace
