#pragma once

// The pages that need nothing else: one file with its style, which any browser shows.

#include <string>
#include <vector>

namespace xpusim::run {

/// A whole page; `title` is plain text, `body` is HTML.
std::string page(const std::string& title, const std::string& body);

/// The head of a table, up to its body; a name that begins with '#' is of a column of numbers.
std::string table_head(const std::vector<std::string>& names);
std::string table_cell(const std::string& text);
std::string number_cell(const std::string& text);

/// A card with a title; `about` and `body` are HTML, and may be empty.
std::string section(const std::string& title, const std::string& about, const std::string& body);
/// A figure with a word about it.
std::string card(const std::string& value, const std::string& what);

}  // namespace xpusim::run
