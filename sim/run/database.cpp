#include "sim/run/database.h"

#include <sqlite3.h>

namespace xpusim::run {
namespace {
constexpr int kBusyMs = 10'000;  // another process reads or writes: wait this long for it
}

void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }
void Statement::Finalize::operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }

Expected<Database> Database::open(const std::string& path, bool create) {
  Database db;
  db.path_ = path;
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  db.db_.reset(handle);
  db.note(code);
  if (handle) sqlite3_busy_timeout(handle, kBusyMs);
  if (auto ok = db.problem(); !ok) return fail(ok.error());
  return db;
}

void Database::note(int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE || !problem_.empty()) return;
  problem_ = db_ ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(code);
}

void Database::run(const char* sql) {
  if (problem_.empty()) note(sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr));
}

Expected<void> Database::problem() const {
  if (problem_.empty()) return {};
  return fail({path_, 0, 0}, "SQLite: " + problem_);
}

Statement::Statement(Database& db, const std::string& sql) : db_(db) {
  if (!db.problem()) return;
  sqlite3_stmt* s = nullptr;
  db.note(sqlite3_prepare_v2(db.handle(), sql.c_str(), -1, &s, nullptr));
  statement_.reset(s);
}

Statement& Statement::bind(std::string_view text) {
  if (statement_)
    db_.note(sqlite3_bind_text64(statement_.get(), next_++, text.data(), text.size(),
                                 SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  if (statement_) db_.note(sqlite3_bind_int64(statement_.get(), next_++, number));
  return *this;
}

Statement& Statement::bind(const std::optional<double>& number) {
  if (statement_)
    db_.note(number ? sqlite3_bind_double(statement_.get(), next_, *number)
                    : sqlite3_bind_null(statement_.get(), next_));
  ++next_;
  return *this;
}

bool Statement::step() {
  if (!statement_ || !db_.problem()) return false;
  const int code = sqlite3_step(statement_.get());
  db_.note(code);
  return code == SQLITE_ROW;
}

void Statement::reset() {
  if (statement_) sqlite3_reset(statement_.get());
  next_ = 1;
}

std::string Statement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  return text ? reinterpret_cast<const char*>(text) : "";
}

std::optional<double> Statement::number(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

}  // namespace xpusim::run
