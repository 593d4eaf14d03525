#include "models/tpu/matrix_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/tpu/core/matrix_unit.h"
#include "models/tpu/core/systolic_array.h"

namespace xpusim::tpu {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLargestArray = 256;  ///< that is drawn
constexpr std::uint8_t kUnit = 0;

/// What one set of weights of the unit was used for, by cycle.
struct Pass {
  std::vector<std::pair<Cycle, const Instruction*>> pushes, multiplies;
  std::vector<Cycle> pops;
};

/// The unit's first pass from `from` on, with at most so many rows.
Pass first_pass(const CoreRecorder& recorder, const Program& program, Cycle from,
                std::int64_t most_rows) {
  Pass pass;
  bool over = false;
  Cycle begin = recorder.first();
  for (const auto& s : recorder.spans()) {
    const Cycle at = std::exchange(begin, s.until);
    if (at < from || s.state != Reason::kIssued) continue;
    const Bundle& bundle = program.bundles[s.bundle];
    for (std::uint32_t k = 0; k < bundle.count; ++k) {
      const Instruction& i = program.code[bundle.first + k];
      if (i.unit != kUnit) continue;
      const bool same = !pass.pushes.empty() && i.set == pass.pushes[0].second->set;
      if (i.op == Opcode::kVMatPush && (pass.pushes.empty() || same)) {
        over = over || !pass.multiplies.empty();  // the set's next weights
        if (!over) pass.pushes.emplace_back(at, &i);
      }
      if (i.op == Opcode::kVMatMul && same && !over) pass.multiplies.emplace_back(at, &i);
      if (i.op == Opcode::kVMatPop) pass.pops.push_back(at);
    }
  }
  if (!pass.multiplies.empty()) {
    const std::int64_t rows = register_rows(pass.multiplies[0].second->element);
    const auto most = static_cast<std::size_t>((most_rows + rows - 1) / rows);
    if (pass.multiplies.size() > most) pass.multiplies.resize(most);
  }
  return pass;
}

std::string base64(const std::vector<std::int16_t>& values) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  int held = 0;
  const auto byte = [&](std::uint32_t b) {
    bits = (bits << 8) | b;
    for (held += 8; held >= 6; held -= 6) text += kDigits[(bits >> (held - 6)) & 63];
  };
  for (const std::int16_t v : values) {
    byte(static_cast<std::uint16_t>(v) & 0xff);
    byte(static_cast<std::uint16_t>(v) >> 8);
  }
  if (held > 0) text += kDigits[(bits << (6 - held)) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

Json numbers(const std::vector<float>& values, std::size_t count) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i)
    list.push_back(std::stod(fmt::format("{:.4g}", values[i])));
  return list;
}

/// Plays a pass on an array of its own.
class Play {
 public:
  Play(const Pass& pass, const ProductCapture& product, const MatrixParams& mxu)
      : pass_(pass),
        product_(product),
        size_(mxu.size),
        element_(pass.multiplies[0].second->element),
        time_(mxu),
        lanes_(time_.rate(element_)),
        array_(size_, lanes_),
        weights_(static_cast<std::size_t>(size_ * size_), 0) {}

  Json run() {
    const Cycle first = pass_.pushes[0].first;
    plan_entries();
    sums_.assign(entries_.size() * static_cast<std::size_t>(size_ * size_), 0);
    const Cycle end = entries_.back() + static_cast<Cycle>(2 * size_);
    Json waves = Json::array();
    for (Cycle c = first; c < end; ++c) {
      load_weights(c);
      enter(c);
      array_.step();
      waves.push_back(look());
    }
    return {{"unit", kUnit},
            {"size", size_},
            {"lanes", lanes_},
            {"element", name(element_)},
            {"first", first},
            {"pushes", pushes()},
            {"entries", entries_},
            {"multiplies", cycles(pass_.multiplies)},
            {"pops", pops()},
            {"waves", std::move(waves)},
            {"weights", numbers(product_.weights(), weights_.size())},
            {"activations",
             numbers(product_.rows(), entries_.size() * static_cast<std::size_t>(size_))},
            {"scale", largest() / kSteps},
            {"sums", coded_sums()}};
  }

 private:
  static constexpr float kSteps = 32767;

  static Json cycles(const std::vector<std::pair<Cycle, const Instruction*>>& list) {
    Json out = Json::array();
    for (const auto& [at, i] : list) out.push_back(at);
    return out;
  }

  /// When each row enters, of those that are kept.
  void plan_entries() {
    const auto most = product_.rows().size() / static_cast<std::size_t>(size_);
    for (const auto& [at, i] : pass_.multiplies) {
      for (std::int64_t r = 0; r < register_rows(element_); ++r) {
        if (entries_.size() < most) entries_.push_back(at + static_cast<Cycle>(r / lanes_));
      }
    }
  }

  Cycle ready(std::size_t push) const {
    const auto& [at, i] = pass_.pushes[push];
    return at + time_.push_cycles(i->element, i->transposed);
  }
  /// The rows of weights (columns of transposed ones) that a push brings: from, until.
  std::pair<std::int64_t, std::int64_t> part(std::size_t push) const {
    const std::int64_t rows = register_rows(pass_.pushes[push].second->element);
    const auto from = static_cast<std::int64_t>(push) * rows;
    return {std::min(from, size_), std::min(from + rows, size_)};
  }

  Json pushes() const {
    Json list = Json::array();
    for (std::size_t p = 0; p < pass_.pushes.size(); ++p) {
      const auto [from, until] = part(p);
      list.push_back({{"at", pass_.pushes[p].first},
                      {"ready", ready(p)},
                      {"from", from},
                      {"until", until},
                      {"columns", pass_.pushes[p].second->transposed}});
    }
    return list;
  }

  /// The pops of the rows that are shown: those of the pass come first. Sums that stay in the unit
  /// have none.
  Json pops() const {
    if (pass_.multiplies[0].second->keep) return Json::array();
    const std::int64_t registers = std::max<std::int64_t>(1, size_ / kLanes);
    const auto rows = static_cast<std::int64_t>(entries_.size());
    const auto all = static_cast<std::size_t>((rows + kSublanes - 1) / kSublanes * registers);
    Json list = Json::array();
    for (std::size_t p = 0; p < std::min(all, pass_.pops.size()); ++p)
      list.push_back(pass_.pops[p]);
    return list;
  }

  void load_weights(Cycle c) {
    for (std::size_t p = 0; p < pass_.pushes.size(); ++p) {
      if (ready(p) != c) continue;
      const auto [from, until] = part(p);
      const bool columns = pass_.pushes[p].second->transposed;
      for (std::int64_t k = 0; k < size_; ++k) {
        for (std::int64_t n = 0; n < size_; ++n) {
          const std::int64_t along = columns ? n : k;
          const auto at = static_cast<std::size_t>(k * size_ + n);
          if (along >= from && along < until) weights_[at] = product_.weights()[at];
        }
        array_.set_weights(0, k,
                           std::span(weights_).subspan(static_cast<std::size_t>(k * size_),
                                                       static_cast<std::size_t>(size_)));
      }
    }
  }

  void enter(Cycle c) {
    std::vector<std::vector<float>> rows;
    for (; entered_ < entries_.size() && entries_[entered_] == c; ++entered_) {
      const auto from = product_.rows().begin() + static_cast<std::ptrdiff_t>(entered_) * size_;
      rows.emplace_back(from, from + size_);
    }
    if (!rows.empty()) array_.enter(rows, 0);
  }

  /// Which row is on which diagonal, as [row, diagonal, ...]; its sums there are kept.
  Json look() {
    Json list = Json::array();
    for (std::int64_t lane = 0; lane < lanes_; ++lane) {
      for (std::int64_t d = 0; d < 2 * size_ - 1; ++d) {
        const std::int64_t first = std::max<std::int64_t>(0, d - size_ + 1);
        const std::int64_t row = array_.element(first, d - first, lane).row;
        if (row < 0) continue;
        list.push_back(row);
        list.push_back(d);
        for (std::int64_t k = first; k <= std::min(d, size_ - 1); ++k) {
          sums_[static_cast<std::size_t>((row * size_ + k) * size_ + d - k)] =
              array_.element(k, d - k, lane).sum;
        }
      }
    }
    return list;
  }

  float largest() const {
    float most = 0;
    for (const float s : sums_) most = std::max(most, std::isfinite(s) ? std::abs(s) : 0);
    return most > 0 ? most : 1;
  }
  std::string coded_sums() const {
    std::vector<std::int16_t> coded;
    const float scale = kSteps / largest();
    for (const float s : sums_) {
      coded.push_back(std::isfinite(s) ? static_cast<std::int16_t>(std::lround(s * scale)) : 0);
    }
    return base64(coded);
  }

  const Pass& pass_;
  const ProductCapture& product_;
  std::int64_t size_;
  Element element_;
  MatrixUnit time_;
  std::int64_t lanes_;
  SystolicArray array_;
  std::vector<float> weights_, sums_;
  std::vector<Cycle> entries_;
  std::size_t entered_ = 0;
};

std::string missing(const Pass& pass, const ProductCapture& product, const MatrixParams& mxu,
                    bool values) {
  if (!values) return "the run was made without values (--values off)";
  if (mxu.size > kLargestArray) return "arrays of more than 256 x 256 elements are not drawn";
  if (mxu.size < kLanes) return "arrays narrower than a register are not drawn";
  if (!product.has_step()) return "no grid step's body begins in the cycles shown";
  if (!product.has_product()) {
    return "the first grid step of the cycles shown computes no product whose values are recorded";
  }
  if (!product.has_values()) return "the values of the first product are not known";
  if (pass.pushes.empty() || pass.multiplies.empty()) {
    return "the cycles shown end before the first product's rows enter the array";
  }
  return "";
}

}  // namespace

bool uses_matrix_units(const Program& program) {
  return std::any_of(program.code.begin(), program.code.end(),
                     [](const Instruction& i) { return i.op == Opcode::kVMatMul; });
}

Json matrix_recording(const CoreRecorder& recorder, const ProductCapture& product,
                      const Program& program, const MatrixParams& mxu, bool values) {
  Cycle body = recorder.first();
  for (const auto& s : recorder.steps()) {
    if (s.number == product.step()) body = s.body.value_or(body);
  }
  const Pass pass = first_pass(recorder, program, body, ProductCapture::most_rows(mxu));
  if (std::string why = missing(pass, product, mxu, values); !why.empty()) {
    return {{"missing", std::move(why)}};
  }
  Json out = Play(pass, product, mxu).run();
  out["units"] = mxu.count;
  out["step"] = product.step();
  out["rows"] = product.row_count();
  out["depth"] = product.depth();
  out["columns"] = product.columns();
  out["file"] = product.line().file;
  out["line"] = product.line().line;
  return out;
}

}  // namespace xpusim::tpu
