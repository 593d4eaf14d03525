#include "sim/run/comparison/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::run {

TextTable::TextTable(const std::vector<std::string>& heads) {
  Row row;
  for (const auto& head : heads) {
    right_.push_back(head.starts_with('>'));
    row.cells.push_back(right_.back() ? head.substr(1) : head);
    widths_.push_back(0);
  }
  this->row(std::move(row.cells));
}

void TextTable::row(std::vector<std::string> cells) { note(std::move(cells), ""); }

void TextTable::note(std::vector<std::string> cells, std::string text) {
  for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
  rows_.push_back({std::move(cells), std::move(text)});
}

std::string TextTable::line(const Row& row, const std::string& indent) const {
  std::string out = indent;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (i > 0) out += "  ";
    out += right_[i] ? fmt::format("{:>{}}", row.cells[i], widths_[i])
                     : fmt::format("{:<{}}", row.cells[i], widths_[i]);
  }
  if (!row.note.empty()) out += "  " + row.note;
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string TextTable::text(const std::string& indent) const {
  std::string out;
  for (const auto& row : rows_) out += line(row, indent);
  return out;
}

}  // namespace xpusim::run
