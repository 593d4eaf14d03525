#include "sim/exec/interpreter.h"

#include <algorithm>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"

namespace xpusim::exec {

namespace {

bool same(const Digit& a, const Digit& b) {
  return a.stride == b.stride && a.div == b.div && a.mod == b.mod && a.dim == b.dim;
}

/// The same tiles, but for the base of an affine form.
bool same_but_base(const Tile& a, const Tile& b) {
  if (a.form != b.form || a.shape != b.shape || a.dtype != b.dtype) return false;
  switch (a.form) {
    case TileForm::kSplat:
      return a.bits == b.bits;
    case TileForm::kAffine:
      return std::equal(a.affine.digits.begin(), a.affine.digits.end(), b.affine.digits.begin(),
                        b.affine.digits.end(), same);
    case TileForm::kBox:
      return a.box.low == b.box.low && a.box.high == b.box.high;
    default:
      return a.data == b.data;
  }
}

bool same_but_place(const Access& a, const Access& b) {
  const bool alike = a.op == b.op && a.kind == b.kind && a.element_bytes == b.element_bytes &&
                     a.masked == b.masked && same_but_base(a.pointers, b.pointers);
  return alike &&
         (!a.masked || (a.mask.form != TileForm::kAffine && same_but_base(a.mask, b.mask)));
}

}  // namespace

void AccessList::clear() {
  forms_.clear();
  items_.clear();
}

Access& AccessList::add() {
  if (!items_.empty()) settle_last();
  items_.emplace_back();
  return forms_.emplace_back();
}

/// The last access is complete: its form goes if the one before is the same.
void AccessList::settle_last() {
  const Access& last = forms_.back();
  auto form = static_cast<std::uint32_t>(forms_.size() - 1);
  const std::int64_t base = last.pointers.affine.base, phase = last.phase;
  if (form > 0 && same_but_place(forms_[form - 1], last)) {
    forms_.pop_back();
    --form;
  }
  items_.back() = {base, phase, form};
}

void BlockTrace::reset(std::size_t sites) {
  accesses_.resize(sites);
  decisions_.resize(sites);
  for (auto& a : accesses_) a.clear();
  for (auto& d : decisions_) d.clear();
  phase_events_.clear();
}

namespace {

class BlockInterpreter final : public Interpreter {
 public:
  BlockInterpreter(std::shared_ptr<const Code> code, const Launch& launch, DeviceMemory& memory,
                   Options options)
      : frame_(std::move(code), &memory, options.values) {
    frame_.grid = launch.grid;
    const auto& slots = frame_.code->arguments;
    for (std::size_t k = 0; k < slots.size() && k < launch.args.size(); ++k) {
      if (launch.args[k].descriptor && frame_.code->slots[slots[k]].is_descriptor) {
        frame_.descriptors[slots[k]] = *launch.args[k].descriptor;
      } else {
        bind(frame_.slots[slots[k]], launch.args[k]);
      }
    }
    frame_.run_preamble();
  }

  void start(const std::array<std::int64_t, 3>& id) override {
    frame_.id = id;
    frame_.start_block();
  }
  State advance() override { return frame_.advance(); }
  void perform() override { frame_.perform(); }
  const kernel::Op* effect() const override { return frame_.effect(); }
  const BlockTrace& trace() const override { return frame_.trace; }
  BlockTrace& trace() override { return frame_.trace; }
  const ExecError& error() const override { return frame_.error; }
  const WorkCounts& counts() const override { return frame_.counts; }

 private:
  static void bind(Tile& slot, const Argument& a) {
    if (a.kind == Argument::Kind::kFloat) {
      set_float(slot, rounded(slot.dtype, a.real));
    } else {
      set_integer(slot, slot.is_pointer ? a.bits : wrap(slot.dtype, a.bits));
    }
  }
  Frame frame_;
};

}  // namespace

std::unique_ptr<Interpreter> Interpreter::make(std::shared_ptr<const Prepared> prepared,
                                               const Launch& launch, DeviceMemory& memory,
                                               Options options) {
  return std::make_unique<BlockInterpreter>(
      std::static_pointer_cast<const Code>(std::move(prepared)), launch, memory, options);
}

}  // namespace xpusim::exec
