#pragma once

// A chip's door to the others.

#include <cstdint>
#include <string>
#include <systemc>
#include <vector>

#include "models/network/fabric.h"
#include "models/tpu/core/dma.h"
#include "models/tpu/core/remote.h"
#include "sim/engine/component.h"
#include "sim/engine/link.h"
#include "sim/trace/sink.h"

namespace xpusim::tpu {

/// Sends copies and signals to other chips, and takes theirs. A copy goes in chunks of the network:
/// each is read whole by a DMA engine of the port's own, crosses the network, and is written whole
/// by another one at the other end; a few chunks of a transfer are under way between HBM and link
/// at a time. A signal is a message of one packet. Between two chips all arrive in the order of
/// sending. Not modelled: a limit to the transfers under way, an engine that forwards flits before
/// its read of a chunk is over.
class IciPort : public sc_core::sc_module, public engine::Component {
 public:
  static constexpr std::uint32_t kSignalBytes = 32;  ///< ASSUMED: address and amount
  static constexpr std::uint32_t kAhead = 2;         ///< chunks read that have not left yet

  /// `connections`: the network's, by device.
  IciPort(const sc_core::sc_module_name& name, const engine::Scheduler& scheduler,
          network::Fabric& fabric, std::vector<std::uint32_t> connections, RemoteTable& transfers,
          DescriptorTable& descriptors, std::uint32_t cores);

  engine::OutPort reader, writer;            ///< the port's engines
  sc_core::sc_vector<engine::OutPort> core;  ///< by core: what has left, what has arrived

  void set_trace(trace::Sink* sink, const std::string& path, std::uint64_t offset_fs);
  Cycle tick(Cycle) override { return engine::kNever; }
  Cycle receive(const engine::Message& message, Cycle now) override;
  const char* waiting_for() const override;

  std::uint64_t sent_bytes() const { return sent_bytes_; }
  std::uint64_t received_bytes() const { return received_bytes_; }
  std::uint64_t copies() const { return copies_; }    ///< sent
  std::uint64_t signals() const { return signals_; }  ///< sent
  std::uint64_t hops() const { return hops_; }        ///< of what was sent, summed

 private:
  static std::uint64_t tag_of(std::uint32_t transfer, std::uint32_t chunk) {
    return std::uint64_t{transfer} << 32 | chunk;
  }
  void begin(std::uint32_t transfer, Cycle now);
  void read_more(std::uint32_t transfer, Cycle now);
  void use_engine(engine::OutPort& engine, Descriptor::For whom, std::uint32_t transfer,
                  std::uint32_t chunk, Cycle now);
  void send(std::uint32_t transfer, std::uint32_t chunk, std::uint32_t bytes, Cycle now);
  void chunk_left(std::uint32_t transfer, Cycle now);
  void chunk_arrived(std::uint32_t transfer, std::uint32_t chunk, Cycle now);
  void chunk_landed(std::uint32_t transfer, Cycle now);
  void tell(RemoteKind kind, std::uint32_t transfer, Cycle now);
  std::uint64_t chunk_end(const RemoteTransfer& t, std::uint64_t bytes, std::uint32_t chunk) const;

  const engine::Scheduler& scheduler_;
  network::Fabric& fabric_;
  std::vector<std::uint32_t> connections_;
  RemoteTable& transfers_;
  DescriptorTable& descriptors_;
  std::uint64_t sent_bytes_ = 0, received_bytes_ = 0, copies_ = 0, signals_ = 0, hops_ = 0;
  std::uint32_t open_ = 0;  ///< transfers sent from here that have not all left
  trace::Sink* sink_ = nullptr;
  trace::LaneId lane_ = 0;
  std::uint64_t offset_fs_ = 0;
};

}  // namespace xpusim::tpu
