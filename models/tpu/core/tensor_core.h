#pragma once

// The TensorCore: runs a bundle program and starts its DMAs.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <systemc>
#include <vector>

#include "models/tpu/core/activity.h"
#include "models/tpu/core/dma.h"
#include "models/tpu/core/issue.h"
#include "models/tpu/core/kernel_body.h"
#include "models/tpu/core/remote.h"
#include "models/tpu/core/streams.h"
#include "models/tpu/core/windows.h"
#include "sim/engine/component.h"
#include "sim/engine/link.h"

namespace xpusim::tpu {

/// What a core runs.
struct CoreJob {
  const Program* program = nullptr;
  WindowSet* windows = nullptr;
  KernelBody* body = nullptr;  ///< null: nothing is executed (timing tests)
  DescriptorTable* descriptors = nullptr;
  Cycle launch_cycles = 0;        ///< before the first bundle
  RemoteTable* remote = nullptr;  ///< null: a chip alone
  std::uint32_t device = 0, core = 0;
};

/// One TensorCore: in-order issue of one bundle a cycle with interlocked results, hardware loops,
/// and sync flags that DMA completions raise. Between DMA starts and waits nothing outside can
/// change its course, so it runs such a stretch at once and says when it is through; loop
/// iterations and grid steps that begin in the same state and decide the same as one before are
/// added without being stepped (`leap`). It does not model instruction fetch, conflicts between
/// vector accesses and DMA in VMEM.
class TensorCore : public sc_core::sc_module, public engine::Component {
 public:
  TensorCore(const sc_core::sc_module_name& name, const CoreParams& params, std::uint32_t engines,
             bool leap = true);

  sc_core::sc_vector<engine::OutPort> dma;  ///< to each engine
  /// To the chip's port, where there are other chips.
  sc_core::sc_port<engine::MessageIf, 1, sc_core::SC_ZERO_OR_MORE_BOUND> ici;

  void start(const CoreJob& job);
  void set_trace(trace::Sink* sink, const engine::Clock& clock, std::string_view path,
                 std::uint64_t offset_fs);
  void record_with(CoreRecorder* recorder) { recorder_ = recorder; }

  Cycle tick(Cycle now) override;
  Cycle receive(const engine::Message& message, Cycle now) override;
  const char* waiting_for() const override { return waiting_.c_str(); }

  /// Charges the cycles from its end to that of the launch.
  void idle_until(Cycle end);

  bool halted() const { return halted_; }
  Cycle cycles() const { return at_; }  ///< lived so far; all of them are charged
  const Activity& activity() const { return activity_; }
  std::uint64_t stepped_bundles() const { return stepped_; }  ///< bundles that were not leapt over

 private:
  /// A loop that runs.
  struct Frame {
    std::uint32_t begin = 0;  ///< its bundle
    std::uint64_t left = 0;   ///< trips after the current one
    bool seen = false;        ///< the state at the last back edge is known
    Cycle at = 0;
    IssueState::Snapshot state;
    Activity activity;
  };
  /// What a grid step's body did when it began in `before` and its execution decided so: used again
  /// for a step that begins alike.
  struct BodyMemo {
    std::vector<std::int64_t> decisions;
    IssueState::Snapshot before, after;
    Cycle cycles = 0;
    std::uint32_t end = 0;  ///< the bundle after the body
    Activity activity;
  };

  enum class Next : std::uint8_t { kGoOn, kStop };
  Next control(const Instruction& i);
  bool is_over(const Instruction& wait);
  bool may_pass(const Instruction& wait, Cycle now);
  Next enter_loop(std::uint64_t trips, const Instruction& i);
  void end_loop(const Instruction& i);
  std::uint32_t engine_for(bool write);
  Next transfer(std::optional<Descriptor> descriptor);
  Next run_body();
  Next start_dma(const Instruction& i);
  Next pass_dma(const Instruction& i);
  bool go_on();
  void copy(KernelBody::Dma request);
  void send(KernelBody::Dma request, exec::Outgoing what);
  void receive_remote(const engine::Message& message);
  std::string wanted(const Instruction& wait) const;
  static bool is_stream(const Instruction& i) { return i.value > 0; }
  static std::uint32_t stream_of(const Instruction& i) {
    return static_cast<std::uint32_t>(i.value) - 1;
  }
  std::uint32_t semaphore_number(std::int64_t key);
  Next end_grid(const Instruction& i);
  bool decisions(std::vector<std::int64_t>& out) const;
  void begin_memo();
  void end_memo();
  std::int64_t decision(std::uint32_t site);
  void jump(std::int32_t bundle) { pc_ = static_cast<std::uint32_t>(bundle) + 1; }
  void slice(std::string_view what, Cycle begin, Cycle end);
  void look_at_stream(const Descriptor& transfer, CopyState::Kind kind, Cycle at);
  void lose(Reason reason, Cycle until, std::uint32_t bundle);
  std::uint64_t trips_to_leap(const Frame& f) const;
  void find_pure_loops();
  static bool is_own(Opcode op);
  static bool is_external(Opcode op);
  static bool is_wait(Opcode op);

  CoreParams params_;
  bool leap_;
  CoreJob job_;
  IssueState state_;
  Activity activity_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> occurrence_;                           ///< by site, in this step
  std::vector<std::pair<std::int64_t, std::uint64_t>> semaphores_;  ///< key, bytes that have come
  Streams streams_;
  std::vector<BodyMemo> memos_;
  BodyMemo recording_;
  std::vector<std::uint32_t> sites_;  ///< of the loops and branches that the execution decides
  bool recording_now_ = false;
  std::vector<bool> pure_;     ///< by bundle: a loop here takes no decision inside
  bool repeats_ = true;        ///< bodies with the same decisions do the same: none starts a DMA
  std::uint32_t no_line_ = 0;  ///< the line of what belongs to none
  std::uint32_t pc_ = 0;
  std::array<std::uint32_t, 2> next_engine_{};  ///< of those that bring, of those that take away
  Cycle at_ = 0;                                ///< the next bundle issues here or later
  bool started_ = false, halted_ = false;
  std::string waiting_;
  bool from_others_ = false;  ///< what came last came from another chip, or had gone to one
  std::uint64_t stepped_ = 0;
  Cycle body_begin_ = 0;

  CoreRecorder* recorder_ = nullptr;
  trace::Sink* sink_ = nullptr;
  trace::LaneId lane_ = 0;
  std::vector<std::uint64_t> window_begin_;  ///< by window and copy: when its transfer was started
  std::vector<trace::LaneId> window_lanes_;
  engine::Clock clock_{1};
  std::uint64_t offset_fs_ = 0;
  std::string path_;
};

}  // namespace xpusim::tpu
