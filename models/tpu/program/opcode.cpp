#include "models/tpu/program/opcode.h"

#include <array>

namespace xpusim::tpu {
namespace {

constexpr std::array<OpcodeInfo, static_cast<std::size_t>(Opcode::kCount)> kOpcodes = {{
    {"smov", Slot::kScalar},
    {"sadd", Slot::kScalar},
    {"smul", Slot::kScalar},
    {"sdiv", Slot::kScalar},
    {"slogic", Slot::kScalar},
    {"scmp", Slot::kScalar},
    {"ssel", Slot::kScalar},
    {"sld", Slot::kScalar},
    {"sst", Slot::kScalar},
    {"vmov", Slot::kVectorAlu},
    {"vadd", Slot::kVectorAlu},
    {"vsub", Slot::kVectorAlu},
    {"vmul", Slot::kVectorAlu},
    {"vmax", Slot::kVectorAlu},
    {"vmin", Slot::kVectorAlu},
    {"vlogic", Slot::kVectorAlu},
    {"vshift", Slot::kVectorAlu},
    {"vcmp", Slot::kVectorAlu},
    {"vmlogic", Slot::kVectorAlu},
    {"vsel", Slot::kVectorAlu},
    {"vcvt", Slot::kVectorAlu},
    {"vpack", Slot::kVectorAlu},
    {"vunpack", Slot::kVectorAlu},
    {"vlaneid", Slot::kVectorAlu},
    {"vrot.sublane", Slot::kVectorAlu},
    {"vbcast.sublane", Slot::kVectorAlu},
    {"vld", Slot::kVectorLoad},
    {"vst", Slot::kVectorStore},
    {"vpow2", Slot::kEup},
    {"vrcp", Slot::kEup},
    {"vrsqrt", Slot::kEup},
    {"vlog2", Slot::kEup},
    {"vtanh", Slot::kEup},
    {"vreduce.lane", Slot::kXlu},
    {"vbcast.lane", Slot::kXlu},
    {"vrot.lane", Slot::kXlu},
    {"vxpose", Slot::kXlu},
    {"vmatpush", Slot::kMatrix},
    {"vmatmul", Slot::kMatrix},
    {"vpop", Slot::kMatrixPop},
    {"loop", Slot::kMisc},
    {"loop.site", Slot::kMisc},
    {"endloop", Slot::kMisc},
    {"if", Slot::kMisc},
    {"else", Slot::kMisc},
    {"endif", Slot::kMisc},
    {"grid", Slot::kMisc},
    {"endgrid", Slot::kMisc},
    {"dma.fetch", Slot::kMisc},
    {"wait.in", Slot::kMisc},
    {"dma.writeback", Slot::kMisc},
    {"wait.out", Slot::kMisc},
    {"drain", Slot::kMisc},
    {"body", Slot::kMisc},
    {"dma.start", Slot::kMisc},
    {"dma.wait", Slot::kMisc},
    {"sync", Slot::kMisc},
    {"sync.wait", Slot::kMisc},
    {"halt", Slot::kMisc},
}};

constexpr std::array<std::string_view, static_cast<std::size_t>(Element::kCount)> kElements = {
    "", "f32", "bf16", "i32", "i16", "i8", "f8"};

constexpr std::array<std::string_view, static_cast<std::size_t>(Slot::kCount)> kSlots = {
    "scalar", "vector_alu", "vector_load", "vector_store", "eup",
    "xlu",    "matrix",     "matrix_pop",  "misc"};

}  // namespace

std::string_view name(Slot slot) { return kSlots[static_cast<std::size_t>(slot)]; }
const OpcodeInfo& info(Opcode op) { return kOpcodes[static_cast<std::size_t>(op)]; }

std::optional<Opcode> opcode_named(std::string_view text) {
  for (std::size_t i = 0; i < kOpcodes.size(); ++i) {
    if (kOpcodes[i].name == text) return static_cast<Opcode>(i);
  }
  return std::nullopt;
}

std::string_view name(Element e) { return kElements[static_cast<std::size_t>(e)]; }

std::optional<Element> element_named(std::string_view text) {
  for (std::size_t i = 1; i < kElements.size(); ++i) {
    if (kElements[i] == text) return static_cast<Element>(i);
  }
  return std::nullopt;
}

}  // namespace xpusim::tpu
