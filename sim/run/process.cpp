// Child processes, one a simulated system.

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "sim/run/large_pages.h"
#include "sim/run/runner.h"

namespace xpusim::run {
namespace {

/// A child and the pipe that brings its result: 'V' + value, or 'E' + diagnostics as JSON.
struct Child {
  pid_t pid = -1;
  int fd = -1;
  std::string received;
  std::size_t index = 0;
};

std::string pack(const Expected<std::string>& result) {
  return result ? "V" + *result : "E" + pack_diagnostics(result.error());
}

Expected<std::string> unpack(const std::string& text, int status) {
  if (WIFSIGNALED(status))
    return fail({}, fmt::format("the simulation was ended by signal {} ({})", WTERMSIG(status),
                                strsignal(WTERMSIG(status))));
  if (text.empty()) return fail({}, "the simulation ended without a result");
  if (text[0] == 'V') return text.substr(1);
  return fail(unpack_diagnostics(text.substr(1)));
}

void write_all(int fd, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n > 0)
      at += static_cast<std::size_t>(n);
    else if (errno != EINTR)
      return;
  }
}

Child start(std::size_t index, const std::function<Expected<std::string>()>& work) {
  Child child;
  child.index = index;
  int ends[2];
  if (::pipe(ends) != 0) return child;
  std::fflush(nullptr);
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(ends[0]);
    use_large_pages();
    std::string result;
    try {
      result = pack(work());
    } catch (const std::bad_alloc&) {
      result = pack(fail({}, "the simulation needs more memory than this computer gives it"));
    } catch (const std::exception& e) {
      result = pack(fail({}, fmt::format("internal error: {}", e.what())));
    }
    write_all(ends[1], result);
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(ends[1]);
  child.fd = ends[0];
  return child;
}

/// Reads what is there; false at the end of the pipe.
bool receive(Child& child) {
  char buffer[65536];
  const ssize_t n = ::read(child.fd, buffer, sizeof buffer);
  if (n > 0) child.received.append(buffer, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

Expected<std::string> finish(Child& child) {
  ::close(child.fd);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  return unpack(child.received, status);
}

}  // namespace

std::string pack_diagnostics(const Diagnostics& problems) {
  auto list = nlohmann::json::array();
  for (const auto& d : problems.list())
    list.push_back(
        {static_cast<int>(d.severity), d.where.file, d.where.line, d.where.column, d.message});
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Diagnostics unpack_diagnostics(const std::string& text) {
  Diagnostics d;
  const auto list = nlohmann::json::parse(text, nullptr, false);
  if (list.is_discarded()) {
    d.error({}, "the simulation's result cannot be read");
    return d;
  }
  for (const auto& e : list)
    d.add({static_cast<Severity>(e[0].get<int>()), {e[1], e[2], e[3]}, e[4]});
  return d;
}

void in_children(std::size_t count, int jobs,
                 const std::function<Expected<std::string>(std::size_t)>& work,
                 const std::function<void(std::size_t, Expected<std::string>)>& done) {
  std::vector<Child> running;
  std::size_t next = 0;
  while (next < count || !running.empty()) {
    while (next < count && running.size() < static_cast<std::size_t>(std::max(jobs, 1))) {
      const std::size_t index = next++;
      Child child = start(index, [&] { return work(index); });
      if (child.pid < 0)
        done(index, fail({}, "cannot start a process"));
      else
        running.push_back(std::move(child));
    }
    std::vector<pollfd> fds;
    fds.reserve(running.size());
    for (const auto& c : running) fds.push_back({c.fd, POLLIN, 0});
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    for (std::size_t i = fds.size(); i-- > 0;) {
      if (!fds[i].revents || receive(running[i])) continue;
      auto result = finish(running[i]);
      const std::size_t index = running[i].index;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      done(index, std::move(result));
    }
  }
}

Expected<std::string> in_child(const std::function<Expected<std::string>()>& work) {
  Expected<std::string> out = fail({}, "the simulation did not run");
  in_children(
      1, 1, [&](std::size_t) { return work(); },
      [&](std::size_t, Expected<std::string> r) { out = std::move(r); });
  return out;
}

}  // namespace xpusim::run
