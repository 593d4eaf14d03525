#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xpusim::run {

/// A table for a terminal, whose columns are as wide as what stands in them.
class TextTable {
 public:
  /// A column whose head begins with '>' is set flush right.
  explicit TextTable(const std::vector<std::string>& heads);
  void row(std::vector<std::string> cells);
  /// A row whose last cell is a text that takes the room of all columns behind the first cells.
  void note(std::vector<std::string> cells, std::string text);
  std::string text(const std::string& indent) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string note;
  };
  std::string line(const Row& row, const std::string& indent) const;

  std::vector<std::size_t> widths_;
  std::vector<bool> right_;
  std::vector<Row> rows_;
};

}  // namespace xpusim::run
