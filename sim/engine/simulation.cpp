#include <cstdlib>
#include <vector>

#include "sim/engine/system.h"

/// The library has a main() that prints a banner and calls this; the program's own main() takes its
/// place, so neither ever runs, but the library does not link without it.
extern "C" int sc_main(int, char*[]) { return EXIT_FAILURE; }

namespace xpusim::engine {
namespace {

/// The contexts that fresh_simulation made: the current one, and older ones still in use. Never
/// destroyed, since the program's last modules may go when it exits.
std::vector<sc_core::sc_simcontext*>& contexts() {
  static auto& list = *new std::vector<sc_core::sc_simcontext*>;
  return list;
}

/// Whether a module, port or channel of the context still lives. (The processes of modules that are
/// gone do: the context owns them.)
bool in_use(const sc_core::sc_simcontext& context) {
  for (const sc_core::sc_object* object : context.get_child_objects()) {
    if (dynamic_cast<const sc_core::sc_process_b*>(object) == nullptr) return true;
  }
  return false;
}

}  // namespace

void fresh_simulation() {
  std::erase_if(contexts(), [](sc_core::sc_simcontext* context) {
    if (in_use(*context)) return false;
    delete context;
    return true;
  });
  contexts().push_back(new sc_core::sc_simcontext);
  sc_core::sc_curr_simcontext = contexts().back();
  sc_core::sc_default_global_context = contexts().back();
  sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
  using sc_core::sc_report_handler;
  sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
  sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);
}

}  // namespace xpusim::engine
