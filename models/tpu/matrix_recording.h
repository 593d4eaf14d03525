#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "models/tpu/core/product_capture.h"
#include "models/tpu/core/recorder.h"
#include "models/tpu/params.h"
#include "models/tpu/program/program.h"

namespace xpusim::tpu {

/// How the first weights of the recorded product came into matrix unit 0 and its first rows went
/// over them, at the cycles at which the recorded bundles gave them, played on a SystolicArray:
/// what each element held in each cycle. A row's sums are kept once an element, and which row is on
/// which diagonal of the array for each cycle. Without operands: {missing: why}.
nlohmann::ordered_json matrix_recording(const CoreRecorder& recorder, const ProductCapture& product,
                                        const Program& program, const MatrixParams& mxu,
                                        bool values);

/// Whether a program uses the matrix units at all.
bool uses_matrix_units(const Program& program);

}  // namespace xpusim::tpu
