#pragma once

// Functions of references that look up by a tensor of indices.

#include "sim/run/reference.h"

namespace xpusim::run {

/// take(table, index): table[index], by the table's first dimension.
Expected<Array> take(const Expression& e, const Array& table, const Array& index);

/// bincount(index, bins=n): how often each of 0 .. n - 1 is in `index`.
Expected<Array> bincount(const Expression& e, const Array& index);

}  // namespace xpusim::run
