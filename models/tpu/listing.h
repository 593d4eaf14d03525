#pragma once

#include <string>

#include "models/tpu/core/activity.h"
#include "models/tpu/params.h"
#include "models/tpu/program/program.h"

namespace xpusim::tpu {

/// A program for people to read. First its source lines: how many bundles each has, what part of
/// each slot they use, and the cycles that the line took in the run, with the reason for most of
/// its waits. A bundle belongs to the line of its oldest instruction, though others may share it.
/// Then every bundle in order, if `all`.
std::string list_bundles(const Program& program, const SlotParams& slots, const Activity& activity,
                         bool all);

}  // namespace xpusim::tpu
