// tabgrad bench kernels: kernels at the presets' shapes. The CPU's matrix products beside OpenBLAS in the same process, where the
// machine has it (timing.h says how that is timed); WebGPU's in gpu_kernels.cc.
#include <CLI/CLI.hpp>
#include <cmath>

#include "backend/cpu/kernels.h"
#include "cli/bench/bench.h"
#include "cli/bench/timing.h"
#include "cli/output.h"

namespace tabgrad::bench {
namespace {

using std::int64_t;
using namespace tabgrad::cpu;

enum class Form { kPlain, kTransposedB, kTransposedA };

void gemm_row(KernelBench& c, const std::string& group, int64_t m, int64_t n, int64_t k, Form form) {
  const char* forms[] = {"A·B", "A·Bt", "At·B"};
  const std::string name =
      group + " " + forms[static_cast<int>(form)] + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  if (!c.report.wanted(name)) return;
  const bool ta = form == Form::kTransposedA, tb = form == Form::kTransposedB;
  const Buffer a = buffer(m * k, 1), b = buffer(k * n, 2), out = buffer(m * n), peer_out = buffer(m * n);
  Gemm g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a.get();
  g.a_m = ta ? 1 : k;
  g.a_k = ta ? m : 1;
  g.b = b.get();
  g.b_k = tb ? 1 : n;
  g.b_n = tb ? k : 1;
  g.c = out.get();
  g.c_m = n;
  const int64_t floats = gemm_scratch_floats(g, c.pool.threads());
  const Buffer scratch = buffer(floats);
  std::vector<std::function<void()>> sides = {[&] { gemm(g, c.pool, {scratch.get(), floats}); }};
  if (c.peer.sgemm() != nullptr) {
    constexpr int kRowMajor = 101, kNo = 111, kYes = 112;
    sides.emplace_back([&] {
      c.peer.sgemm()(kRowMajor, ta ? kYes : kNo, tb ? kYes : kNo, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
                     1.0f, a.get(), static_cast<int>(ta ? m : k), b.get(), static_cast<int>(tb ? k : n), 0.0f, peer_out.get(),
                     static_cast<int>(n));
    });
  }
  const auto times = alternate(sides);
  const double gflop = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  Row row{name, m, n, k, c.pool.threads(), times[0], gflop / (times[0].median * 1e-3)};
  if (times.size() > 1) {
    row.peer_gflops = gflop / (times[1].median * 1e-3);
    row.ratio = row.gflops / row.peer_gflops;
    c.ratios.push_back(row.ratio);
  }
  c.report.add(row);
}

// A kernel limited by memory: `bytes` are those it must read and write.
void memory_row(KernelBench& c, const std::string& name, int64_t rows, int64_t cols, double bytes,
                const std::function<void()>& run) {
  if (!c.report.wanted(name)) return;
  const Timing t = alternate({run})[0];
  c.report.add({name, rows, cols, 0, c.pool.threads(), t, 0, bytes * 1e-9 / (t.median * 1e-3)});
}

void geometric_mean(KernelBench& c, const char* what) {
  if (c.ratios.empty()) return;
  double sum = 0;
  for (const double r : c.ratios) sum += std::log(r);
  c.report.say(str(what, ", ", c.pool.threads(),
                   " threads: ", cli::fixed(std::exp(sum / static_cast<double>(c.ratios.size())), 3),
                   " of OpenBLAS (geometric mean of ", c.ratios.size(), ")"));
  c.ratios.clear();
}

struct Preset {
  const char* name;
  int64_t d, heads, context, batch;
};
constexpr Preset kPresets[] = {{"tiny", 48, 3, 32, 16},      {"small", 96, 3, 64, 16}, {"medium", 128, 4, 96, 16},
                               {"large", 192, 6, 128, 12},   {"xl", 256, 8, 128, 8},   {"huge", 256, 8, 256, 8},
                               {"massive", 384, 12, 256, 4}, {"mega", 384, 12, 512, 2}};

void products(KernelBench& c) {
  for (const Preset& p : kPresets) {
    const int64_t tokens = p.context * p.batch, d = p.d;
    for (const int64_t wide : {3 * d, 4 * d}) {
      gemm_row(c, p.name, tokens, wide, d, Form::kPlain);  // forward
      gemm_row(c, p.name, tokens, d, wide, Form::kTransposedB);  // dX = dY·Wt
      gemm_row(c, p.name, d, wide, tokens, Form::kTransposedA);  // dW = Xt·dY
    }
    gemm_row(c, p.name, tokens, d, 4 * d, Form::kPlain);
    gemm_row(c, p.name, 4 * d, d, tokens, Form::kTransposedA);
  }
  geometric_mean(c, "presets' shapes");
  for (const int64_t size : {512, 1024, 2048}) {
    for (const Form form : {Form::kPlain, Form::kTransposedB, Form::kTransposedA}) gemm_row(c, "cube", size, size, size, form);
  }
  geometric_mean(c, "512-2048 cubed");
}

void attention(KernelBench& c) {
  for (const Preset& p : kPresets) {
    const int64_t width = p.d, tokens = p.context * p.batch;
    const Buffer qkv = buffer(tokens * 3 * width, 1), dout = buffer(tokens * width, 2), out = buffer(tokens * width);
    const Buffer dqkv = buffer(tokens * 3 * width), lse = buffer(tokens * p.heads);
    Attention s;
    s.b = p.batch;
    s.t = p.context;
    s.heads = s.kv_heads = p.heads;
    s.d = p.d / p.heads;
    s.scale = 1.0f / std::sqrt(static_cast<float>(s.d));
    s.qkv = qkv.get();
    const int64_t floats = attention_scratch_floats(s, c.pool.threads());
    const Buffer scratch = buffer(floats);
    // Two products of T·(T+1)/2 · D multiply-adds forward, five backward.
    const double product = 1e-9 * static_cast<double>(p.batch * p.heads * s.t * (s.t + 1) * s.d);
    const auto row = [&](const char* pass, double gflop, const std::function<void()>& run) {
      const std::string name = std::string("attention ") + pass + " " + p.name;
      if (!c.report.wanted(name)) return;
      const Timing t = alternate({run})[0];
      c.report.add({name, p.batch, s.t, width, c.pool.threads(), t, gflop / (t.median * 1e-3)});
    };
    const Scratch memory{scratch.get(), floats};
    row("forward", 2 * product, [&] { attention_forward(s, out.get(), lse.get(), c.pool, memory); });
    attention_forward(s, out.get(), lse.get(), c.pool, memory);
    row("backward", 5 * product, [&] { attention_backward(s, out.get(), lse.get(), dout.get(), dqkv.get(), c.pool, memory); });
  }
}

void rows(KernelBench& c) {
  for (const auto& [r, n] : {std::pair<int64_t, int64_t>{1024, 96}, {1536, 192}, {2048, 256}, {1024, 384}, {32768, 1024}}) {
    const std::string shape = " " + std::to_string(r) + "x" + std::to_string(n);
    const Buffer x = buffer(r * n, 1, 8.0f), dy = buffer(r * n, 2), y = buffer(r * n), gamma = buffer(n, 3),
                 beta = buffer(n, 4);
    const Buffer mean = buffer(r), rstd = buffer(r), dgamma = buffer(n), dbeta = buffer(n);
    Norm s;
    s.rows = r;
    s.cols = n;
    s.x = x.get();
    s.gamma = gamma.get();
    s.beta = beta.get();
    const int64_t floats = norm_scratch_floats(s, c.pool.threads());
    const Buffer scratch = buffer(floats);
    const double array = 4.0 * static_cast<double>(r * n);
    norm_forward(s, y.get(), mean.get(), rstd.get(), c.pool);
    memory_row(c, "norm forward" + shape, r, n, 2 * array, [&] { norm_forward(s, y.get(), mean.get(), rstd.get(), c.pool); });
    memory_row(c, "norm backward" + shape, r, n, 3 * array, [&] {
      norm_backward(s, mean.get(), rstd.get(), dy.get(), y.get(), dgamma.get(), dbeta.get(), c.pool, {scratch.get(), floats});
    });
    memory_row(c, "softmax forward" + shape, r, n, 2 * array, [&] { softmax_forward(r, n, x.get(), y.get(), c.pool); });
    const std::vector<std::int32_t> targets(static_cast<std::size_t>(r), 7);
    memory_row(c, "cross-entropy forward" + shape, r, n, array,
               [&] { cross_entropy_forward(r, n, x.get(), targets.data(), mean.get(), rstd.get(), c.pool); });
    memory_row(c, "cross-entropy backward" + shape, r, n, 2 * array,
               [&] { cross_entropy_backward(r, n, x.get(), targets.data(), rstd.get(), mean.get(), y.get(), c.pool); });
  }
}

void optimizers(KernelBench& c) {
  for (const int64_t n : {70464, 366432, 6416896, 25039872}) {
    const Buffer p = buffer(n, 1), g = buffer(n, 2), m = buffer(n, 3), v = buffer(n, 4, 0.0f);
    const Segment segment{p.get(), g.get(), m.get(), v.get(), n, 0.1f};
    Optimizer s;
    s.lr = 1e-6f;
    s.segments = &segment;
    s.count = 1;
    const double array = 4.0 * static_cast<double>(n);
    memory_row(c, "AdamW " + std::to_string(n), n, 1, 7 * array, [&] { optimizer_step(s, c.pool); });
    const ConstSpan span{g.get(), n};
    const int64_t floats = sum_squares_scratch_floats(&span, 1);
    const Buffer scratch = buffer(floats);
    float sum = 0;
    memory_row(c, "sum of squares " + std::to_string(n), n, 1, array,
               [&] { sum_squares(&span, 1, &sum, c.pool, {scratch.get(), floats}); });
    memory_row(c, "copy " + std::to_string(n), n, 1, 2 * array, [&] { std::copy(g.get(), g.get() + n, m.get()); });
  }
}

struct KernelOptions : cli::BenchOptions {
  std::vector<int> threads;
  std::string only;
};

void cpu_rows(Report& report, const KernelOptions& o) {
  for (const int threads : o.threads.empty() ? std::vector<int>{1, ThreadPool(0).threads()} : o.threads) {
    ThreadPool pool(threads);
    const OpenBlas peer(threads);
    KernelBench c{pool, peer, report, {}};
    if (peer.sgemm() == nullptr) report.say("no OpenBLAS found: no peer");
    report.say(str(instruction_set(), ", ", threads, " threads"));
    products(c);
    attention(c);
    rows(c);
    optimizers(c);
    recurrent_rows(c);
  }
}

int run(const KernelOptions& o) {
  const std::vector<cli::BenchTarget> targets = cli::open_targets(o);
  Report report(cli::is_stdout(o.common.json) ? stderr : stdout, o.only);
  for (const cli::BenchTarget& t : targets) {
    report.begin(t.id);
    if (t.id == "cpu") {
      cpu_rows(report, o);
    } else {
      report.say(t.heading());
      gpu_kernel_rows(report, t.options);
    }
  }
  if (o.common.json.empty()) return cli::kOk;
  Json json = cli::result_head("tabgrad-kernels/2", targets);
  for (const cli::BenchTarget& t : targets) json["targets"].push_back({{"id", t.id}, {"about", t.about}});
  json["rows"] = report.json();
  cli::write_output(o.common.json, json.dump(1) + "\n");
  return cli::kOk;
}

}  // namespace
}  // namespace tabgrad::bench

namespace tabgrad::cli {

void add_bench_kernels(CLI::App& bench, Command& command) {
  CLI::App* sub = bench.add_subcommand(
      "kernels", "Kernels at the presets' shapes: the CPU's, beside OpenBLAS where there is one, and a GPU's");
  const auto o = std::make_shared<tabgrad::bench::KernelOptions>();
  sub->add_option("--json", o->common.json, "Also write the result as JSON to FILE; - is standard output")->type_name("FILE");
  sub->add_option("--threads", o->threads, "CPU threads, by comma [1 and all cores]")
      ->check(CLI::Range(1, 256))
      ->delimiter(',')
      ->type_name("LIST");
  add_gpu_options(*sub, *o);
  add_targets_option(*sub, *o);
  sub->add_option("--only", o->only, "Kernels whose name has this in it")->type_name("TEXT");
  sub->callback([&command, o] { command = [o] { return tabgrad::bench::run(*o); }; });
}

}  // namespace tabgrad::cli
