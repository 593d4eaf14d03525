#include "tests/tpu/harness.h"

namespace xpusim::tpu::test {

TpuParams params_of(const std::string& stem, const std::vector<std::string>& overrides) {
  TpuParams params;
  auto node = config::load(source_path("configs/tpu/" + stem + ".yaml"), overrides);
  EXPECT_TRUE(node.has_value()) << (node ? "" : node.error().str());
  if (!node) return params;
  Diagnostics problems;
  config::bind(node->find("tpu"), "tpu", params, problems);
  EXPECT_FALSE(problems.has_errors()) << problems.str();
  return params;
}

LaunchFixture::LaunchFixture(const std::string& kernel_file, const std::vector<TensorSpec>& tensors,
                             const std::vector<std::int64_t>& integers,
                             std::array<std::int64_t, 3> grid, std::int64_t num_stages) {
  auto read = kernel::read_module_file(source_path(kernel_file));
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().str());
  if (read && num_stages > 0) read = family().compile(std::move(*read), {4, num_stages});
  if (!read) return;
  module = std::make_shared<kernel::Module>(std::move(*read));
  launch.name = kernel_file;
  launch.module = module;
  launch.function = module->kernel();
  launch.grid = grid;
  for (const TensorSpec& t : tensors) {
    auto address = memory.allocate(t.name, t.dtype, t.shape, t.init);
    EXPECT_TRUE(address.has_value());
    exec::Argument a;
    a.kind = exec::Argument::Kind::kPointer;
    a.bits = static_cast<std::int64_t>(*address);
    a.tensor = t.name;
    launch.args.push_back(a);
  }
  for (std::int64_t v : integers) {
    exec::Argument a;
    a.bits = v;
    launch.args.push_back(a);
  }
}

std::vector<double> LaunchFixture::values(const std::string& tensor) const {
  return memory.as_doubles(*memory.find(std::string_view(tensor)));
}

exec::Init randn(std::uint64_t seed) {
  exec::Init init;
  init.kind = exec::Init::Kind::kRandn;
  init.seed = seed;
  return init;
}
exec::Init zeros() { return {}; }

run::LaunchReport run_on(const TpuParams& params, LaunchFixture& fixture, bool values) {
  Machine machine("test", params, std::nullopt);
  run::LaunchOptions options;
  options.values = values;
  auto report = machine.launch(fixture.launch, fixture.memory, options);
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().str());
  return report ? *report : run::LaunchReport{};
}

double counter(const run::LaunchReport& report, const std::string& name) {
  for (const auto& [key, value] : report.counters) {
    if (key == name) return value.value_or(-1);
  }
  ADD_FAILURE() << "no counter " << name;
  return -1;
}

std::uint64_t ledger_sum(const run::LaunchReport& report) {
  std::uint64_t sum = 0;
  for (const auto& e : report.ledger) sum += e.cycles;
  return sum;
}

}  // namespace xpusim::tpu::test
