#include <cstdlib>

#include "sim/engine/system.h"

/// The library's own main() calls it. Ours does not, and nobody else may.
extern "C" int sc_main(int, char*[]) { return EXIT_FAILURE; }

namespace xpusim::engine {
namespace {

/// The context that fresh_simulation made last.
sc_core::sc_simcontext* ours = nullptr;

void discard_last_context() {
  if (ours != nullptr && ours->get_child_objects().empty()) delete ours;
  ours = nullptr;
}

}  // namespace

void fresh_simulation() {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  discard_last_context();
  ours = new sc_core::sc_simcontext;
  sc_core::sc_curr_simcontext = ours;
  sc_core::sc_default_global_context = ours;
  sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
  using sc_core::sc_report_handler;
  sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
  sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);
}

}  // namespace xpusim::engine
