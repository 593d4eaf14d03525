#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"

struct sqlite3;
struct sqlite3_stmt;

namespace xpusim::run {

/// A SQLite database. What goes wrong is kept as the first problem: calls after it do nothing, and
/// whoever has to know asks `problem` once.
class Database {
 public:
  /// Opens a file; makes it if `create`.
  static Expected<Database> open(const std::string& path, bool create);

  void run(const char* sql);
  Expected<void> problem() const;
  void note(int code);  ///< an error code of SQLite; keeps its message

  sqlite3* handle() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  std::string path_, problem_;
  std::unique_ptr<sqlite3, Close> db_;
};

/// One SQL statement: bind its parameters in order, then step through its rows.
class Statement {
 public:
  Statement(Database& db, const std::string& sql);

  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind(const std::optional<double>& number);  ///< none is NULL
  bool step();                                           ///< whether there is a row
  void run() {
    while (step()) {
    }
  }
  void reset();

  std::string text(int column) const;
  std::optional<double> number(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const;
  };
  Database& db_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;
};

}  // namespace xpusim::run
