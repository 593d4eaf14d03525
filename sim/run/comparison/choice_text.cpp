#include "sim/run/comparison/choice_text.h"

#include <fmt/format.h>

namespace xpusim::run {
namespace {

struct Words {
  const char *best, *than;
};

Words words(Aim aim) {
  switch (aim) {
    case Aim::kTime:
      return {"fastest", "times as fast as"};
    case Aim::kEnergy:
      return {"least energy", "times less than"};
    case Aim::kCost:
      return {"cheapest", "times cheaper than"};
  }
  return {"", ""};
}

const char* words(Margin margin) {
  switch (margin) {
    case Margin::kApart:
      return "";
    case Margin::kClose:
      return ", which is within the models' errors";
    case Margin::kUnknown:
      return ", by figures whose errors are not known";
  }
  return "";
}

const char* mark(Margin margin) {
  switch (margin) {
    case Margin::kApart:
      return "";
    case Margin::kClose:
      return "~ ";
    case Margin::kUnknown:
      return "? ";
  }
  return "";
}

}  // namespace

std::string choice_text(const Comparison& c, const Choice& choice, Aim aim,
                        const std::string& indent) {
  const Words w = words(aim);
  const std::string head = fmt::format("{}{:<13} ", indent, w.best);
  if (!choice.machine) return fmt::format("{}none: {}\n", head, choice.why);
  const std::string& best = c.machines[*choice.machine].name;
  if (!choice.next) return fmt::format("{}{}, {}\n", head, best, choice.why);
  std::string out = fmt::format("{}{}, {} {} {}{}\n", head, best, ratio_text(choice.ratio), w.than,
                                c.machines[*choice.next].name, words(choice.margin));
  if (!choice.why.empty()) out += fmt::format("{:<{}}{}\n", "", head.size(), choice.why);
  return out;
}

std::string choice_cell(const Comparison& c, const Choice& choice) {
  if (!choice.machine) return "-";
  const std::string& best = c.machines[*choice.machine].name;
  if (!choice.next) return "only " + best;
  return fmt::format("{}{} ({})", mark(choice.margin), best, ratio_text(choice.ratio));
}

}  // namespace xpusim::run
