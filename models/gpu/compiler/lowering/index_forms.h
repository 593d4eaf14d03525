#pragma once

// Arithmetic on integer tiles in closed form.

#include <cstdint>
#include <optional>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// The number that a form is in all threads, if it is a constant.
std::optional<std::int64_t> constant_of(Lowering& l, const IndexForm& form);
/// Whether a form is the same in all threads.
bool is_scalar_form(const IndexForm& form);
/// The form's uniform part with its offset inside.
ScalarId whole_scalar(Lowering& l, const IndexForm& form);
IndexForm add_forms(Lowering& l, const IndexForm& a, const IndexForm& b);
IndexForm scale_form(Lowering& l, IndexForm form, std::int64_t by);

}  // namespace xpusim::gpu
