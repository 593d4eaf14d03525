#include "sim/exec/handlers/async.h"

#include <fmt/format.h>

#include "sim/exec/handlers/views.h"

namespace xpusim::exec {
namespace {

/// The elements from the first to the last of a view, in its buffer.
std::pair<std::int64_t, std::int64_t> extent(const View& v) {
  std::int64_t end = v.offset + 1;
  for (std::size_t d = 0; d < v.shape.size(); ++d) end += (v.shape[d] - 1) * v.strides[d];
  return {v.offset, end};
}

/// Whether a copy that goes on touches an element of a view of the same buffer.
bool overlaps(const Frame::AsyncCopy& copy, const View& view) {
  View other;
  other.offset = copy.begin;
  other.shape = copy.shape;
  other.strides = copy.strides;
  bool found = false;
  for_view_runs(view, all_of(view), [&](std::int64_t at, std::int64_t, std::int64_t n) {
    if (found || at >= copy.end || at + n <= copy.begin) return;
    for_view_runs(other, all_of(other), [&](std::int64_t from, std::int64_t, std::int64_t m) {
      found = found || (at < from + m && from < at + n);
    });
  });
  return found;
}

}  // namespace

void begin_copy(Frame& f, const Instruction& in, const View& view, std::int64_t group,
                bool writes) {
  const auto [begin, end] = extent(view);
  f.copies.push_back({view.argument, group, begin, end, in.op, writes, view.shape, view.strides});
}

bool check_finished(Frame& f, const Instruction& in, const View& view, bool writes) {
  if (f.copies.empty()) return true;
  const auto [begin, end] = extent(view);
  for (const Frame::AsyncCopy& copy : f.copies) {
    if (copy.buffer != view.argument || copy.end <= begin || end <= copy.begin) continue;
    if ((!writes && !copy.writes) || !overlaps(copy, view)) continue;
    f.fail(in,
           fmt::format("race: {} {} memory that the asynchronous copy of line {} may still be {}; "
                       "a wait has to come first",
                       in.op->name(), writes ? "writes" : "reads", copy.op->line().line,
                       copy.writes ? "writing" : "reading"));
    return false;
  }
  return true;
}

}  // namespace xpusim::exec
