#pragma once

// Every op of every dialect is defined once, in sim/kernel/dialects/: its name, its grammar (custom
// assembly), its verifier and its effects. Handlers of executors and machines are tables by OpId.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xpusim::kernel {

struct Op;
using OpId = std::uint16_t;         ///< dense over all defined ops of all dialects, fixed for a process

/// What an op does besides computing its results.
enum Effect : std::uint32_t {
  kPure = 0,
  kReadsGlobal = 1u << 0,
  kWritesGlobal = 1u << 1,
  kReadsShared = 1u << 2,           ///< shared memory, VMEM, SMEM
  kWritesShared = 1u << 3,
  kAtomic = 1u << 4,
  kAsync = 1u << 5,                 ///< starts something that a later op waits for
  kWaits = 1u << 6,
  kBarrier = 1u << 7,
  kTerminator = 1u << 8,
  kControl = 1u << 9,               ///< has regions that run as control flow (scf.for, scf.if, ...)
  kElementwise = 1u << 10,          ///< result element i depends on operand elements i only
  kVisible = 1u << 11,              ///< others can see it, or its result depends on others: run in step with time
};

class OpGrammar;                    // sim/kernel/reader: parse and print of the custom assembly form

struct OpInfo {
  std::string name;                 ///< "tt.load"
  OpId id = 0;
  std::uint32_t effects = kPure;
  const OpGrammar* grammar = nullptr;                       ///< null: generic form only
  std::string (*verify)(const Op& op) = nullptr;            ///< "" if fine, else what is wrong
};

/// The definition of an op by name, or null.
const OpInfo* find_op(std::string_view name);
const OpInfo& op_info(OpId id);
std::size_t op_count();             ///< OpIds are 0 .. op_count()-1
std::vector<std::string> op_names();                        ///< for "did you mean"

}  // namespace xpusim::kernel
