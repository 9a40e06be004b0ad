#include "cost/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tabgrad {
namespace {

constexpr std::size_t kParameters = 4;
using Logs = std::array<double, kParameters>;  // logarithms of overhead, rate, bandwidth, half_work: keeps all above 0

// Pulls a number that no step depends on (the bandwidth, where nothing is limited by it) to where the search began, and others
// by nothing that shows.
constexpr double kPull = 1e-6;
constexpr double kLongestMove = 2;  // of a logarithm in one iteration
constexpr int kIterations = 80;

CostModel model_of(const Logs& p) { return {std::exp(p[0]), std::exp(p[1]), std::exp(p[2]), std::exp(p[3])}; }

class Search {
 public:
  Search(std::span<const MeasuredStep> steps, const Logs& start) : steps_(steps), start_(start), at_(start) {}

  // Levenberg and Marquardt's method; gives the sum of squares that it ends with.
  double run() {
    std::vector<double> residuals = residuals_at(at_);
    double cost = squares(residuals), damping = 1e-2;
    for (int i = 0; i < kIterations && damping < 1e8; ++i) {
      Logs next = move(residuals, damping);
      std::vector<double> there = residuals_at(next);
      const double lower = squares(there);
      if (!(lower < cost)) {
        damping *= 4;
        continue;
      }
      const bool settled = cost - lower < 1e-12;
      at_ = next;
      residuals = std::move(there);
      cost = lower;
      damping *= 0.3;
      if (settled) break;
    }
    return cost;
  }
  const Logs& at() const { return at_; }

 private:
  static double squares(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += v * v;
    return sum;
  }

  std::vector<double> residuals_at(const Logs& p) const {
    const CostModel model = model_of(p);
    std::vector<double> out;
    for (const MeasuredStep& s : steps_) out.push_back(std::log(predict(model, s.work).seconds / s.seconds));
    for (std::size_t j = 0; j < kParameters; ++j) out.push_back(std::sqrt(kPull) * (p[j] - start_[j]));
    return out;
  }

  // Solves (JᵀJ + damping·1)·d = −Jᵀr; positive definite, so that elimination needs no pivots.
  Logs move(const std::vector<double>& r, double damping) const {
    constexpr double kStep = 1e-4;
    std::array<std::vector<double>, kParameters> jacobian;
    for (std::size_t j = 0; j < kParameters; ++j) {
      Logs beside = at_;
      beside[j] += kStep;
      jacobian[j] = residuals_at(beside);
      for (std::size_t i = 0; i < r.size(); ++i) jacobian[j][i] = (jacobian[j][i] - r[i]) / kStep;
    }
    std::array<std::array<double, kParameters + 1>, kParameters> a{};
    for (std::size_t i = 0; i < kParameters; ++i) {
      for (std::size_t k = 0; k < r.size(); ++k) {
        for (std::size_t j = 0; j < kParameters; ++j) a[i][j] += jacobian[i][k] * jacobian[j][k];
        a[i][kParameters] -= jacobian[i][k] * r[k];
      }
      a[i][i] += damping;
    }
    for (std::size_t i = 0; i < kParameters; ++i) {
      for (std::size_t k = i + 1; k < kParameters; ++k) {
        const double factor = a[k][i] / a[i][i];
        for (std::size_t j = i; j <= kParameters; ++j) a[k][j] -= factor * a[i][j];
      }
    }
    Logs next = at_, d{};
    for (std::size_t i = kParameters; i-- > 0;) {
      d[i] = a[i][kParameters];
      for (std::size_t j = i + 1; j < kParameters; ++j) d[i] -= a[i][j] * d[j];
      d[i] /= a[i][i];
      next[i] += std::clamp(d[i], -kLongestMove, kLongestMove);
    }
    return next;
  }

  std::span<const MeasuredStep> steps_;
  Logs start_, at_;
};

}  // namespace

StepWork work_of(const Program& program, const std::string& entry) {
  for (const Entry& e : program.entries) {
    if (e.name != entry) continue;
    StepWork work;
    for (const Launch& l : e.launches) {
      const auto same = [&](const LaunchWork& w) { return w.flops == l.flops && w.bytes == l.bytes; };
      const auto known = std::find_if(work.begin(), work.end(), same);
      if (known == work.end())
        work.push_back({1, l.flops, l.bytes});
      else
        ++known->count;
    }
    return work;
  }
  fail("[cost] the Program has no entry '", entry, "'");
}

double total_flops(const StepWork& work) {
  double sum = 0;
  for (const LaunchWork& w : work) sum += w.count * w.flops;
  return sum;
}
double total_launches(const StepWork& work) {
  double sum = 0;
  for (const LaunchWork& w : work) sum += w.count;
  return sum;
}

Prediction predict(const CostModel& m, const StepWork& work) {
  Prediction p;
  for (const LaunchWork& w : work) {
    const double arithmetic = w.flops > 0 ? w.flops / m.rate * (1 + std::sqrt(m.half_work / w.flops)) : 0;
    const double memory = w.bytes > 0 ? w.bytes / m.bandwidth : 0;
    double& part = arithmetic >= memory && arithmetic > m.overhead ? p.arithmetic : memory > m.overhead ? p.memory : p.overhead;
    part += w.count * std::max({m.overhead, arithmetic, memory});
  }
  p.seconds = p.overhead + p.arithmetic + p.memory;
  return p;
}

CostModel fit_cost_model(std::span<const MeasuredStep> steps) {
  if (steps.empty()) fail("[cost] a fit needs measured steps");
  // Rates cannot be lower than what was seen in all, overhead not higher than the mean launch.
  double rate = 0, bandwidth = 0, launch = std::numeric_limits<double>::infinity(), largest = 1;
  for (const MeasuredStep& s : steps) {
    double bytes = 0;
    for (const LaunchWork& w : s.work) {
      bytes += w.count * w.bytes;
      largest = std::max(largest, w.flops);
    }
    const double launches = total_launches(s.work);
    if (launches <= 0 || !(s.seconds > 0)) fail("[cost] '", s.name, "' has no launches or no time");
    rate = std::max(rate, total_flops(s.work) / s.seconds);
    bandwidth = std::max(bandwidth, bytes / s.seconds);
    launch = std::min(launch, s.seconds / launches);
  }
  rate = std::max(rate, 1.0);
  bandwidth = std::max(bandwidth, 1.0);
  double best = std::numeric_limits<double>::infinity();
  Logs found{};
  // The sum has edges where a launch changes its limit, so that one search may end beside the best place.
  for (const double o : {0.1, 0.7}) {
    for (const double r : {1.1, 2.5}) {
      for (const double b : {1.5, 6.0}) {
        for (const double w : {1e-3, 1e-1}) {
          Search search(steps, {std::log(o * launch), std::log(r * rate), std::log(b * bandwidth), std::log(w * largest)});
          const double cost = search.run();
          if (cost >= best) continue;
          best = cost;
          found = search.at();
        }
      }
    }
  }
  return model_of(found);
}

CostFit fit_with_residuals(std::span<const MeasuredStep> steps) {
  CostFit fit;
  fit.model = fit_cost_model(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CostFit::Row row{steps[i].name, steps[i].seconds, predict(fit.model, steps[i].work).seconds, 0};
    if (steps.size() > 3) {
      std::vector<MeasuredStep> others(steps.begin(), steps.end());
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      row.left_out = predict(fit_cost_model(others), steps[i].work).seconds;
    }
    fit.rows.push_back(row);
  }
  return fit;
}

}  // namespace tabgrad
