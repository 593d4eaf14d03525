#pragma once

// Comparison files (schema xpusim.comparison_set/1): kinds of work, each with workloads, to run on
// several machines.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/run/workload.h"

namespace xpusim::run {

/// A workload of a kind: the same work in the form that each family of machines takes.
struct ComparedWorkload {
  std::string name;
  /// Launch files as written, by family ("gpu", "tpu"); "" is the file for every other family.
  std::map<std::string, config::Node> files;
  std::map<std::string, std::shared_ptr<const Workload>> forms;  ///< `files`, once they were read
  SourcePosition where;

  /// What a family of machines runs; null if there is no form for it.
  const Workload* form(const std::string& family) const;
};

struct WorkKind {
  std::string name;
  std::vector<ComparedWorkload> workloads;
};

struct ComparisonSet {
  std::string name, path;
  std::vector<WorkKind> kinds;
  bool values = true;
  bool warm_caches = false;
};

/// Whether a YAML text says that it is a comparison file: by its `schema`, right or misspelt.
bool is_comparison_set(const config::Node& root);

/// Says every problem of form: what needs no other file. `families`: the names of those that a
/// workload may have forms for.
Expected<ComparisonSet> parse_comparison_set(const config::Node& root, const std::string& path,
                                             const std::vector<std::string>& families);

/// Reads the launch files too. Forms of one workload must be the same work as far as their tensors
/// tell: as many of each type and number of elements.
Expected<ComparisonSet> load_comparison_set(const config::Node& root, const std::string& path);

/// One launch file as a set: of one kind with one workload.
ComparisonSet set_of(Workload workload);

}  // namespace xpusim::run
