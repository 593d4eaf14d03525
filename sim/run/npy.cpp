#include "sim/run/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "sim/trace/atomic_file.h"

namespace xpusim::run {
namespace {

using kernel::DType;

/// NumPy's type codes that hold a dtype's bits.
std::vector<std::string> descriptors(DType d) {
  switch (d) {
    case DType::kF64:
      return {"<f8"};
    case DType::kF32:
      return {"<f4"};
    case DType::kF16:
      return {"<f2"};
    case DType::kBF16:
      return {"<u2", "<V2", "|V2"};
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return {"|u1", "|V1"};
    case DType::kI64:
      return {"<i8", "<u8"};
    case DType::kI32:
      return {"<i4", "<u4"};
    case DType::kI16:
      return {"<i2", "<u2"};
    case DType::kI8:
      return {"|i1", "|u1"};
    case DType::kI1:
      return {"|b1"};
    default:
      return {};
  }
}

/// The text after "'key':" in the header's dictionary, or "".
std::string value_of(const std::string& header, const std::string& key) {
  const auto at = header.find("'" + key + "':");
  if (at == std::string::npos) return "";
  auto begin = header.find_first_not_of(' ', at + key.size() + 3);
  if (begin == std::string::npos) return "";
  const char close = header[begin] == '(' ? ')' : header[begin] == '\'' ? '\'' : ',';
  const auto end = header.find(close, begin + 1);
  if (end == std::string::npos) return "";
  return header.substr(begin, end - begin + (close == ',' ? 0 : 1));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0])
                           : fmt::format("({})", fmt::join(shape, ", "));
}

}  // namespace

Expected<std::shared_ptr<const std::vector<std::byte>>> read_npy(
    const std::string& path, DType dtype, const std::vector<std::int64_t>& shape,
    const SourcePosition& where) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec))
    return fail(where, fmt::format("cannot read '{}'", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(where, fmt::format("cannot read '{}'", path));
  std::array<unsigned char, 12> head{};
  in.read(reinterpret_cast<char*>(head.data()), 10);
  static constexpr unsigned char kMagic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (in.gcount() != 10 || !std::equal(kMagic, kMagic + 6, head.begin()) || head[6] < 1 ||
      head[6] > 2)
    return fail(where, fmt::format("'{}' is no .npy file of format 1.0 or 2.0", path));
  std::size_t length = head[8] | head[9] << 8;
  if (head[6] == 2) {
    in.read(reinterpret_cast<char*>(head.data() + 10), 2);
    length |= static_cast<std::size_t>(head[10]) << 16 | static_cast<std::size_t>(head[11]) << 24;
  }
  if (length > 1 << 20) return fail(where, fmt::format("'{}' has a header that is too long", path));
  std::string header(length, ' ');
  in.read(header.data(), static_cast<std::streamsize>(length));
  if (static_cast<std::size_t>(in.gcount()) != length)
    return fail(where, fmt::format("'{}' ends in its header", path));
  const std::string descr = value_of(header, "descr");
  bool fits = false;
  for (const auto& d : descriptors(dtype)) fits |= descr == "'" + d + "'";
  if (!fits)
    return fail(where, fmt::format("'{}' holds {}, not {}", path, descr, kernel::name(dtype)));
  if (value_of(header, "fortran_order") != "False")
    return fail(where, fmt::format("'{}' is in Fortran order; save it in C order", path));
  if (value_of(header, "shape") != shape_text(shape))
    return fail(where, fmt::format("'{}' has shape {}, not {}", path, value_of(header, "shape"),
                                   shape_text(shape)));
  std::size_t bytes = static_cast<std::size_t>(kernel::byte_size(dtype));
  for (auto d : shape) bytes *= static_cast<std::size_t>(d);
  const auto size = std::filesystem::file_size(path, ec) - static_cast<std::size_t>(in.tellg());
  if (ec || size < bytes)
    return fail(where, fmt::format("'{}' ends before its {} bytes", path, bytes));
  if (size > bytes)
    return fail(where, fmt::format("'{}' holds {} bytes, its shape needs {}", path, size, bytes));
  auto data = std::make_shared<std::vector<std::byte>>(bytes);
  in.read(reinterpret_cast<char*>(data->data()), static_cast<std::streamsize>(bytes));
  if (static_cast<std::size_t>(in.gcount()) != bytes)
    return fail(where, fmt::format("cannot read the {} bytes of '{}'", bytes, path));
  return std::shared_ptr<const std::vector<std::byte>>(std::move(data));
}

Expected<void> write_npy(const std::string& path, const exec::DeviceMemory& memory,
                         const exec::Allocation& tensor) {
  const auto codes = descriptors(tensor.dtype);
  if (codes.empty())
    return fail({path, 0, 0}, fmt::format("NumPy has nothing for {}", kernel::name(tensor.dtype)));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                   codes.front(), shape_text(tensor.shape));
  constexpr std::size_t kPrefix = 10, kAlign = 64;  // the data begins at a multiple of 64
  const std::size_t length = (header.size() + 1 + kPrefix + kAlign - 1) / kAlign * kAlign - kPrefix;
  header.resize(length - 1, ' ');
  header += '\n';
  auto file = trace::AtomicFile::create(path);
  if (!file) return fail(file.error());
  const char prefix[kPrefix] = {'\x93',
                                'N',
                                'U',
                                'M',
                                'P',
                                'Y',
                                1,
                                0,
                                static_cast<char>(length),
                                static_cast<char>(length >> 8)};
  file->write({prefix, kPrefix});
  file->write(header);
  std::vector<std::byte> chunk(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < tensor.bytes; at += chunk.size()) {
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), tensor.bytes - at));
    memory.read(tensor.address + at, std::span(chunk).first(n));
    file->write({reinterpret_cast<const char*>(chunk.data()), n});
  }
  return file->commit();
}

}  // namespace xpusim::run
