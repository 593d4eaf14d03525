#pragma once

// A chip's DMA engines on the network.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "models/network/fabric.h"
#include "sim/engine/component.h"

namespace xpusim::network {

/// Memory and rates of a chip's end, in the units of the simulation.
struct DmaTiming {
  engine::Femto issue = 0, completion = 0;
  std::uint32_t engines = 16, window = 2;
  double memory_fs_per_byte = 0, reduce_fs_per_byte = 0;

  /// `chip_memory`: B/s of the chip's own memory, where the parameters leave it open.
  static DmaTiming from(const EndpointParams& params, double chip_memory);
};

/// Is told what becomes of the chunks that a ChipDma was given. Called while components of the
/// network's domain receive messages; may put more.
class DmaListener {
 public:
  virtual ~DmaListener() = default;
  /// All of it has left chip `src`; what it was read from may be written again.
  virtual void left(std::uint32_t src, std::uint64_t tag) = 0;
  /// It is in the memory of chip `dst`, and reduced if asked for.
  virtual void arrived(std::uint32_t dst, std::uint64_t tag, std::uint32_t bytes) = 0;
};

/// The engines that read a chip's memory and send, and that take what arrives and write it, adding
/// it to what is there if so asked (on the chip's cores, which reads the addend and writes the
/// sum). Memory and cores serve chunks in the order in which they come. A chunk may leave while it
/// is still being read, and is there when all of it is written.
///
/// Not modelled: banks and rows of the memory (bandwidth only), the descriptors' own traffic, the
/// cores' other work.
class ChipDma final : public engine::Component {
 public:
  ChipDma(Fabric& fabric, engine::Scheduler& scheduler, std::uint32_t chip, const DmaTiming& timing,
          DmaListener& listener);

  /// The number by which put() knows a chip; the same each time.
  std::uint32_t lane_to(std::uint32_t dst);
  /// Sends `bytes` (at most the fabric's chunk) to the chip of a lane; to its own chip it copies.
  /// `begins`: it is the first chunk of a transfer, which pays the issue latency.
  struct Put {
    std::uint32_t lane = 0, bytes = 0;
    std::uint32_t tag = 0;
    bool reduces = false, begins = false;
  };
  void put(const Put& chunk);

  engine::Cycle tick(engine::Cycle now) override;
  engine::Cycle receive(const engine::Message& message, engine::Cycle now) override;
  const char* waiting_for() const override;

  std::uint64_t read_bytes() const { return read_; }
  std::uint64_t written_bytes() const { return written_; }
  std::uint64_t reduced_bytes() const { return reduced_; }

 private:
  enum Own : std::uint16_t { kDone = 100, kCopied = 101 };
  static constexpr std::uint32_t kNone = ~0u;

  /// Chunks to one chip.
  struct Lane {
    std::uint32_t dst = 0, connection = 0;
    double fs_per_byte = 0;                     ///< of the way to it
    std::uint32_t unsent = 0;                   ///< given to the fabric and not gone yet
    std::uint32_t first = kNone, last = kNone;  ///< puts that wait
  };
  struct Waiting {
    Put put;
    std::uint32_t next = kNone;  ///< behind it in its lane
  };

  void pump();
  void send(std::uint32_t number);
  void copy(const Put& chunk);
  /// Books the memory for this many bytes; returns when it is done with them.
  engine::Femto use_memory(double bytes);
  void finish(const engine::Message& arrival);
  void tell_self(std::uint16_t kind, const engine::Message& about, engine::Femto at);

  Fabric& fabric_;
  engine::Scheduler& scheduler_;
  std::uint32_t chip_;
  std::uint32_t id_ = 0;
  DmaTiming timing_;
  DmaListener& listener_;
  std::vector<Lane> lanes_;
  std::vector<Waiting> puts_;
  std::vector<std::uint32_t> free_puts_;
  std::unordered_map<std::uint32_t, std::uint32_t> lane_of_;
  std::uint32_t busy_ = 0;       ///< engines
  std::uint32_t next_lane_ = 0;  ///< whose turn it is
  std::uint32_t waiting_ = 0;    ///< puts in all lanes
  engine::Femto memory_free_ = 0, cores_free_ = 0;
  std::uint64_t read_ = 0, written_ = 0, reduced_ = 0;
};

}  // namespace xpusim::network
