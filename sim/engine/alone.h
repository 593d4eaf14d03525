#pragma once

namespace xpusim::engine {

/// A field's value, to be copied by itself. The host waits when it reads at once what it has just
/// written in parts, until all that was stored before has reached its cache; compilers join the
/// copies of neighbouring fields to such reads. (The empty asm keeps them from it.)
template <class T>
T alone(T field) {
  asm("" : "+r"(field));
  return field;
}

}  // namespace xpusim::engine
