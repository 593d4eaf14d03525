#include "models/gpu/core/kernel_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/gpu/core/stall.h"
#include "models/gpu/core/tensor_core.h"

namespace xpusim::gpu {

namespace {

constexpr std::uint32_t kMaxIndex = 0xfffe;
constexpr std::uint32_t kWavefrontBytes = 128;  // what shared memory moves in one pass
constexpr std::uint16_t kBypassBytes = 16;      // a lane of cp.async.cg; less: cp.async.ca
constexpr std::uint16_t kWordBytes = 4;

struct Class {
  Port port;
  Action action;
};

Class class_of(Opcode op) {
  switch (op) {
    case Opcode::kAlu:
      return {Port::kAlu, Action::kFixed};
    case Opcode::kFma:
      return {Port::kFma, Action::kFixed};
    case Opcode::kFp64:
      return {Port::kFp64, Action::kTimed};
    case Opcode::kHfma2:
      return {Port::kTensor, Action::kFixed};
    case Opcode::kUniform:
      return {Port::kUniform, Action::kFixed};
    case Opcode::kMufu:
      return {Port::kXu, Action::kXu};
    case Opcode::kS2ur:
      return {Port::kUniform, Action::kTimed};
    case Opcode::kS2r:
    case Opcode::kShfl:
    case Opcode::kLds:
    case Opcode::kSts:
    case Opcode::kLdsm:
    case Opcode::kStsm:
      return {Port::kMio, Action::kMio};
    case Opcode::kLdc:
      return {Port::kMio, Action::kConstant};
    case Opcode::kLdg:
      return {Port::kLg, Action::kLoad};
    case Opcode::kStg:
      return {Port::kLg, Action::kStore};
    case Opcode::kAtom:
      return {Port::kLg, Action::kAtomic};
    case Opcode::kRed:
      return {Port::kLg, Action::kReduction};
    case Opcode::kBar:
      return {Port::kMio, Action::kBarrier};
    case Opcode::kMembar:
      return {Port::kControl, Action::kMembar};
    case Opcode::kCctl:
      return {Port::kLg, Action::kInvalidate};
    case Opcode::kLdgsts:
      return {Port::kLg, Action::kCopy};
    case Opcode::kLdgdepbar:
      return {Port::kMio, Action::kCopyClose};
    case Opcode::kDepbar:
      return {Port::kControl, Action::kCopyWait};
    case Opcode::kMma:
      return {Port::kMatrix, Action::kMatrix};
    case Opcode::kWgmma:
      return {Port::kWgmma, Action::kWgmma};
    case Opcode::kWgArrive:
      return {Port::kControl, Action::kWgArrive};
    case Opcode::kWgDepbar:
      return {Port::kControl, Action::kWgWait};
    case Opcode::kFence:
      return {Port::kControl, Action::kFence};
    case Opcode::kBra:
      return {Port::kControl, Action::kBranch};
    case Opcode::kExit:
      return {Port::kControl, Action::kExit};
    case Opcode::kUtma:
      return {Port::kUniform, Action::kBoxCopy};
    case Opcode::kUtmaWait:
      return {Port::kControl, Action::kBoxWait};
    case Opcode::kSyncs:
      return {Port::kMio, Action::kPhaseArrive};
    case Opcode::kSyncsWait:
      return {Port::kMio, Action::kPhaseWait};
    case Opcode::kSetMaxReg:
      return {Port::kUniform, Action::kSetRegisters};
    case Opcode::kNop:
    case Opcode::kCount:
      break;
  }
  return {Port::kControl, Action::kFixed};
}

bool is_global(Action a) {
  return a == Action::kLoad || a == Action::kStore || a == Action::kAtomic ||
         a == Action::kReduction || a == Action::kCopy;
}

/// Wavefronts of a shared-memory instruction: 128 bytes each at best, and its bank conflicts.
std::uint8_t shared_passes(const Instruction& in) {
  const bool moves = in.op == Opcode::kLds || in.op == Opcode::kSts || in.op == Opcode::kLdsm ||
                     in.op == Opcode::kStsm;
  if (!moves) return 1;
  if (in.width == 0) return 0;  // switched off
  const std::uint32_t lanes = in.active_lanes ? in.active_lanes : kWarpLanes;
  const std::uint32_t ideal =
      std::max(1u, (lanes * in.width + kWavefrontBytes - 1) / kWavefrontBytes);
  return static_cast<std::uint8_t>(std::min(255u, ideal + in.extra_passes));
}

/// What only some kinds of instructions need of the word's general fields.
void set_async_fields(const Instruction& in, const TensorParams& tensor, IssueWord& w) {
  switch (w.action) {
    case Action::kCopy:
      w.passes = static_cast<std::uint8_t>((in.width > kWordBytes ? kWideCopy : 0) |
                                           std::min<std::uint8_t>(in.extra_passes, kWideCopy - 1));
      if (in.width >= kBypassBytes) w.action = Action::kCopyBypass;
      break;
    case Action::kAtomic:
    case Action::kReduction:
      w.passes = in.mnemonic.find(".ADD.F") != std::string::npos;
      break;
    case Action::kCopyWait:
    case Action::kWgWait:
    case Action::kBoxWait:
      w.passes = in.pending;
      break;
    case Action::kBoxCopy:
    case Action::kPhaseArrive:
      w.vector = in.active_warps;
      break;
    case Action::kBarrier:
      w.vector = in.meeting;
      w.target = in.barrier;
      break;
    case Action::kSetRegisters:
      w.target = in.width;
      break;
    case Action::kMatrix:
      w.vector = static_cast<std::uint16_t>(tensor_cycles(tensor, in.op, in.mma));
      w.target = static_cast<std::uint16_t>(mma_latency(tensor, in.mma));
      break;
    case Action::kWgmma:
      w.vector = static_cast<std::uint16_t>(tensor_cycles(tensor, in.op, in.mma));
      w.target = static_cast<std::uint16_t>(wgmma_shared_bytes(in.mma));
      w.commits = in.mma.commits;
      w.a_in_shared = in.mma.a_in_shared;
      break;
    default:
      break;
  }
}

IssueWord issue_word(const Instruction& in, const TensorParams& tensor) {
  IssueWord w;
  const Class c = class_of(in.op);
  w.op = in.op;
  w.port = c.port;
  w.action = c.action;
  w.stall = std::max<std::uint8_t>(in.stall, 1);
  w.wait_mask = in.wait_mask;
  w.sets = in.sets;
  w.reads = in.reads;
  w.passes = shared_passes(in);
  w.branch = in.branch;
  w.site = in.site == kNoSite ? kNoImageSite : static_cast<std::uint16_t>(in.site);
  w.vector = c.action == Action::kMio ? in.active_warps : in.vector;
  w.target = in.op == Opcode::kBra ? static_cast<std::uint16_t>(in.target) : in.copy;
  w.line = static_cast<std::uint16_t>(in.line);
  w.by_site = in.op == Opcode::kExit && in.site != kNoSite;
  if (c.port == Port::kFma && in.mnemonic.starts_with("IMAD")) {
    w.port = Port::kImad;
    w.passes = in.mnemonic.starts_with("IMAD.WIDE") ? 2 : 1;
  }
  set_async_fields(in, tensor, w);
  return w;
}

bool is_async(Opcode op) {
  return op == Opcode::kLdgsts || op == Opcode::kWgmma || op == Opcode::kUtma ||
         op == Opcode::kSyncs || op == Opcode::kSyncsWait;
}

bool is_warpgroup(Opcode op) {
  return op == Opcode::kWgmma || op == Opcode::kWgArrive || op == Opcode::kWgDepbar;
}

/// What is wrong with a matrix instruction or a copy, or "".
std::string async_problem(const Program& p, const Instruction& in, const TensorParams& tensor) {
  if (in.op == Opcode::kMma || in.op == Opcode::kWgmma) {
    if (const char* what = shape_problem(in.op, in.mma); *what) return what;
    constexpr std::uint32_t kMostCycles = 0x8000;
    if (tensor_cycles(tensor, in.op, in.mma) > kMostCycles) {
      return "keeps the tensor core for more than 32,768 cycles";
    }
  }
  if (is_warpgroup(in.op) && p.num_warps % int{kWarpsOfWarpgroup} != 0) {
    return "needs warpgroups: a block of a multiple of four warps";
  }
  if ((in.op == Opcode::kUtma || in.op == Opcode::kSyncsWait) && in.site == kNoSite) {
    return "needs a site";
  }
  if (in.op == Opcode::kLdgsts && in.width != 4 && in.width != 8 && in.width != kBypassBytes) {
    return "copies 4, 8 or 16 bytes a lane";
  }
  return "";
}

/// What is wrong with an instruction, or "".
std::string problem(const Program& p, const Instruction& in) {
  const bool by_trace = in.branch != Branch::kAlways && in.branch != Branch::kToGroup;
  const bool needs_site = is_global(class_of(in.op).action) || (in.op == Opcode::kBra && by_trace);
  if (in.barrier >= kBarriersOfBlock) return "names a barrier that a block does not have";
  if (needs_site && in.site == kNoSite) return "needs a site";
  if (in.site != kNoSite && in.site >= kMaxIndex) return "has a site number beyond 65,534";
  if (in.op == Opcode::kBra && in.branch != Branch::kToGroup &&
      (in.target < 0 || static_cast<std::size_t>(in.target) >= p.code.size())) {
    return "jumps outside the program";
  }
  if (is_global(class_of(in.op).action) &&
      (in.site >= p.sites.size() ||
       (!p.sites[in.site].shape.empty() && in.vector >= p.sites[in.site].vectors) ||
       in.copy >= p.sites[in.site].copies)) {
    return "names a site, vector or copy that the program has no layout for";
  }
  if (in.line >= kMaxIndex) return "has a line number beyond 65,534";
  return "";
}

/// What code each warp runs, and its number among those that run the same.
std::vector<KernelImage::WarpPlace> places_of_warps(const Program& p) {
  std::vector<KernelImage::WarpPlace> places;
  std::vector<WarpRange> groups = p.groups;
  if (groups.empty()) groups.push_back({0, std::max(1, p.num_warps)});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (int n = 0; n < groups[g].warps; ++n) {
      places.push_back({static_cast<std::uint8_t>(g), static_cast<std::uint8_t>(n),
                        static_cast<std::uint16_t>(groups[g].begin)});
    }
  }
  return places;
}

void mark_last_of_sites(const Program& p, std::vector<IssueWord>& code) {
  std::vector<bool> seen(p.sites.size(), false);
  for (std::size_t i = code.size(); i-- > 0;) {
    const bool counts = is_global(code[i].action) || code[i].action == Action::kCopyBypass;
    if (!counts || seen[code[i].site]) continue;
    seen[code[i].site] = true;
    code[i].last_of_site = true;
  }
}

}  // namespace

Expected<KernelImage> decode(const Program& program, const TensorParams& tensor) {
  Diagnostics problems;
  const SourcePosition where{program.name, 0, 0};
  if (program.code.empty() || program.code.size() > kMaxIndex) {
    return fail(where, fmt::format("a program of {} instructions cannot run (1 to {})",
                                   program.code.size(), kMaxIndex));
  }
  KernelImage image;
  image.warps_of_block = static_cast<std::uint32_t>(std::max(1, program.num_warps));
  image.warps = places_of_warps(program);
  image.registers = static_cast<std::uint16_t>((program.registers_per_thread + kRegisterUnit - 1) /
                                               kRegisterUnit * kRegisterUnit);
  image.line_count = static_cast<std::uint32_t>(std::max<std::size_t>(program.lines.size(), 1));
  std::uint32_t sites = static_cast<std::uint32_t>(program.sites.size());
  for (std::size_t pc = 0; pc < program.code.size(); ++pc) {
    const Instruction& in = program.code[pc];
    std::string what = problem(program, in);
    if (what.empty()) what = async_problem(program, in, tensor);
    if (!what.empty()) {
      problems.error(where, fmt::format("instruction {} ({}) {}", pc, in.mnemonic, what));
      continue;
    }
    if (in.site != kNoSite) sites = std::max(sites, in.site + 1);
    image.line_count = std::max(image.line_count, in.line + 1);
    image.code.push_back(issue_word(in, tensor));
    image.is_async |= is_async(in.op);
  }
  const Instruction& last = program.code.back();
  const bool ends = (last.op == Opcode::kExit && last.site == kNoSite) ||
                    (last.op == Opcode::kBra && last.branch == Branch::kAlways);
  if (!ends) problems.error(where, "the program runs past its last instruction");
  if (problems.has_errors()) return fail(std::move(problems));
  image.site_count = sites;
  mark_last_of_sites(program, image.code);
  image.footprints.reserve(program.sites.size());
  image.copies.assign(sites, 1);
  for (std::size_t s = 0; s < program.sites.size(); ++s) {
    image.footprints.emplace_back(program.sites[s]);
    image.copies[s] = program.sites[s].copies;
  }
  return image;
}

LaunchProfile::LaunchProfile(const KernelImage& image)
    : executed(image.code.size()),
      line_cycles(image.line_count * static_cast<std::size_t>(Stall::kCount)) {}

}  // namespace xpusim::gpu
