#include "sim/run/results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/run/tool.h"

namespace xpusim::run {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

std::string database_file(const std::string& folder) {
  return (fs::path(folder) / "results.sqlite").string();
}

/// "time_ns, cycles, ..." with something after each name.
std::string figure_names(const std::string& after) {
  std::string sql;
  for (const auto& c : figure_columns()) sql += fmt::format(", {}{}", c.name, after);
  return sql;
}

void make_tables(Database& db) {
  db.run("BEGIN IMMEDIATE");
  db.run("CREATE TABLE IF NOT EXISTS sweep (key TEXT PRIMARY KEY, value TEXT NOT NULL)");
  // place: where in the grid; null for a point of an earlier grid.
  const std::string points = fmt::format(
      "CREATE TABLE IF NOT EXISTS points (id TEXT PRIMARY KEY, place INTEGER, workload TEXT, "
      "machine TEXT, parameters TEXT, status INTEGER NOT NULL, reason TEXT{}, stalls TEXT, "
      "checked TEXT)",
      figure_names(" REAL"));
  db.run(points.c_str());
  db.run("CREATE TABLE IF NOT EXISTS host (id TEXT PRIMARY KEY, wall_s REAL, peak_rss_mb REAL)");
  Statement(db, "INSERT OR IGNORE INTO sweep VALUES ('schema', ?)").bind(kResultsSchema).run();
  db.run("COMMIT");
}

std::vector<Stall> stalls_from(const std::string& text) {
  std::vector<Stall> stalls;
  const Json list = Json::parse(text, nullptr, false);
  if (list.is_array())
    for (const auto& s : list)
      stalls.push_back({s[0], s[1], s[2], s.size() > 3 ? s[3].get<std::string>() : ""});
  return stalls;
}

std::string stalls_text(const std::vector<Stall>& stalls) {
  Json list = Json::array();
  for (const auto& s : stalls) list.push_back({s.unit, s.reason, s.share, s.meaning});
  return list.dump();
}

}  // namespace

Expected<ResultStore> ResultStore::create(const std::string& folder) {
  auto db = Database::open(database_file(folder), true);
  if (!db) return fail(db.error());
  make_tables(*db);
  if (auto ok = db->problem(); !ok) return fail(ok.error());
  return open(folder);
}

Expected<ResultStore> ResultStore::open(const std::string& folder) {
  const std::string file = database_file(folder);
  std::error_code ec;
  if (!fs::is_regular_file(file, ec))
    return fail({folder, 0, 0}, "this folder holds no results of a sweep (results.sqlite)");
  auto db = Database::open(file, false);
  if (!db) return fail(db.error());
  ResultStore store(std::move(*db));
  const std::string schema = store.value("schema");
  if (auto ok = store.db_.problem(); !ok) return fail(ok.error());
  if (schema != kResultsSchema)
    return fail({file, 0, 0},
                fmt::format("these results are '{}', not '{}'", schema, kResultsSchema));
  return store;
}

std::string ResultStore::value(const std::string& key) {
  Statement get(db_, "SELECT value FROM sweep WHERE key = ?");
  get.bind(key);
  return get.step() ? get.text(0) : "";
}

Expected<void> ResultStore::plan(const Sweep& sweep, const std::vector<PlannedPoint>& points) {
  db_.run("BEGIN IMMEDIATE");
  Statement meta(db_, "INSERT OR REPLACE INTO sweep VALUES (?, ?)");
  const std::string paths = Json(sweep.parameters()).dump();
  for (const auto& [key, value] :
       {std::pair{"name", sweep.name}, {"tool", std::string(kTool)}, {"parameters", paths}}) {
    meta.bind(key).bind(value).run();
    meta.reset();
  }
  db_.run("UPDATE points SET place = NULL");
  Statement put(db_,
                "INSERT INTO points (id, place, workload, machine, parameters, status) VALUES "
                "(?, ?, ?, ?, ?, 0) ON CONFLICT (id) DO UPDATE SET place = excluded.place, "
                "workload = excluded.workload, machine = excluded.machine, "
                "parameters = excluded.parameters");
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& p = points[i];
    put.bind(p.id).bind(static_cast<std::int64_t>(i)).bind(p.workload).bind(p.machine);
    put.bind(Json(p.values).dump()).run();
    put.reset();
  }
  db_.run("COMMIT");
  return db_.problem();
}

std::map<std::string, PointStatus> ResultStore::statuses() {
  std::map<std::string, PointStatus> all;
  Statement get(db_, "SELECT id, status FROM points WHERE place IS NOT NULL");
  while (get.step()) all[get.text(0)] = static_cast<PointStatus>(get.number(1).value_or(0));
  return all;
}

Expected<void> ResultStore::put(const std::string& id, const PointOutcome& o) {
  db_.run("BEGIN IMMEDIATE");
  Statement row(db_, fmt::format("UPDATE points SET status = ?, reason = ?{}, stalls = ?, "
                                 "checked = ? WHERE id = ?",
                                 figure_names(" = ?")));
  row.bind(static_cast<std::int64_t>(o.status)).bind(o.reason);
  for (const auto& c : figure_columns()) row.bind(o.figures.*c.member);
  row.bind(stalls_text(o.stalls)).bind(o.check).bind(id).run();
  Statement(db_, "INSERT OR REPLACE INTO host VALUES (?, ?, ?)")
      .bind(id)
      .bind(Figure(o.wall_s))
      .bind(Figure(o.peak_rss_mb))
      .run();
  db_.run("COMMIT");
  return db_.problem();
}

Expected<SweepResults> ResultStore::read() {
  SweepResults out;
  db_.run("BEGIN");  // one state of the file for all that follows
  out.name = value("name");
  out.tool = value("tool");
  const Json paths = Json::parse(value("parameters"), nullptr, false);
  if (paths.is_array()) out.parameters = paths.get<std::vector<std::string>>();
  Statement get(db_,
                fmt::format("SELECT points.id, workload, machine, parameters, status, reason, "
                            "stalls, checked, wall_s, peak_rss_mb{} FROM points LEFT JOIN host "
                            "ON host.id = points.id WHERE place IS NOT NULL ORDER BY place",
                            figure_names("")));
  while (get.step()) {
    SweepRow row{get.text(0), get.text(1), get.text(2), {}, {}};
    const Json values = Json::parse(get.text(3), nullptr, false);
    if (values.is_array()) row.values = values.get<std::vector<std::string>>();
    row.values.resize(out.parameters.size());
    PointOutcome& o = row.outcome;
    o.status = static_cast<PointStatus>(get.number(4).value_or(0));
    o.reason = get.text(5);
    o.stalls = stalls_from(get.text(6));
    o.check = get.text(7);
    o.wall_s = get.number(8).value_or(0);
    o.peak_rss_mb = get.number(9).value_or(0);
    int column = 10;
    for (const auto& c : figure_columns()) o.figures.*c.member = get.number(column++);
    out.rows.push_back(std::move(row));
  }
  db_.run("COMMIT");
  if (auto ok = db_.problem(); !ok) return fail(ok.error());
  return out;
}

Expected<SweepLock> SweepLock::take(const std::string& folder) {
  const std::string file = (fs::path(folder) / "sweep.lock").string();
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return fail({file, 0, 0}, "cannot write in this folder");
  // A record lock: the children that simulate do not inherit it.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd, F_SETLK, &lock) != 0) {
    ::close(fd);
    return fail({folder, 0, 0}, "another sweep is running in this folder");
  }
  return SweepLock(fd);
}

SweepLock::SweepLock(SweepLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
SweepLock::~SweepLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace xpusim::run
