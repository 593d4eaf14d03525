#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/gpu/core/block_source.h"

namespace xpusim::gpu {

/// Runs a launch's blocks with the functional executor, each when it becomes resident. Interpreters
/// are pooled: a block holds one only while it stands at a visible effect (an atomic whose result
/// is used, a barrier between blocks); the traces of finished executions are swapped out.
class BlockExecution : public BlockSource {
 public:
  BlockExecution(std::shared_ptr<const exec::Prepared> prepared, const exec::Launch& launch,
                 exec::DeviceMemory& memory, exec::Interpreter::Options options);

  void begin(std::uint64_t index, BlockRun& run) override;
  bool advance(BlockRun& run) override;
  void end(BlockRun& run) override;
  bool failed() const override { return error_.has_value(); }

  const std::optional<exec::ExecError>& error() const { return error_; }
  /// Of all blocks so far.
  exec::WorkCounts counts() const;

 private:
  exec::Interpreter* take();
  void run_on(BlockRun& run);

  std::shared_ptr<const exec::Prepared> prepared_;
  const exec::Launch& launch_;
  exec::DeviceMemory& memory_;
  exec::Interpreter::Options options_;
  std::vector<std::unique_ptr<exec::Interpreter>> interpreters_;
  std::vector<exec::Interpreter*> idle_;
  std::optional<exec::ExecError> error_;
};

}  // namespace xpusim::gpu
