#pragma once

// Blocks of tensors that descriptors describe, as tiles of pointers and a mask.

#include "sim/exec/frame.h"
#include "sim/exec/handlers/access.h"
#include "sim/exec/handlers/atomics.h"

namespace xpusim::exec {

/// The block of a tensor at some coordinates: where its elements lie, and which lie in the tensor.
struct DescriptorBlock {
  Tile pointers, mask;
  const TensorDescriptor* descriptor = nullptr;
};

/// The block that an op names: its descriptor is operand 0, its coordinates begin at operand
/// `first`. False: a coordinate is not known; the frame's error says so.
bool locate_block(Frame& f, const Instruction& in, std::size_t first, DescriptorBlock& block);
/// What a checked access of a block touches, read (with padding), written, or combined with a
/// value.
void fetch_block(Frame& f, const DescriptorBlock& block, const Touch& touch, Tile& out);
void put_block(Frame& f, const DescriptorBlock& block, const Touch& touch, const Tile& value);
void reduce_block(Frame& f, Rmw op, const DescriptorBlock& block, const Tile& value);
/// The operation of a descriptor's reduction ("kind").
std::string_view prepare_descriptor_reduce(const kernel::Op& op, Instruction& in);

}  // namespace xpusim::exec
