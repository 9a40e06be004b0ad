// How long a step takes on a device, told from its Program without running it: a model of four numbers, fitted to measured steps.
//
//   seconds = Σ over launches of max(overhead, flops / rate(flops), bytes / bandwidth),   rate(f) = rate / (1 + √(half_work / f))
//
// A launch takes at least `overhead`, whatever it does; a larger one is held up by arithmetic or by memory (the roofline: Williams,
// Waterman, Patterson 2009). A small product does not reach the rate of a large one: tiles at its border are part empty, and the border
// of an output shrinks against its area as 1/√area. half_work is the FLOPs at which half the rate is reached; 0: one rate for all.
//
// Does: adds up, fits, says how well a step is foretold that was left out. Does not: measure, or know presets and devices.
// Invariants: all four numbers are ≥ 0 and finite; the same samples give the same fit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "program/program.h"

namespace tabgrad {

// `count` launches of a step that do the same amount of work.
struct LaunchWork {
  double count = 1, flops = 0, bytes = 0;
};
using StepWork = std::vector<LaunchWork>;

// Of an entry point, in order of first appearance. Throws Error if the Program has no such entry.
StepWork work_of(const Program& program, const std::string& entry = "train_step");
double total_flops(const StepWork& work);
double total_launches(const StepWork& work);

struct CostModel {
  double overhead = 0;  // seconds a launch, at least
  double rate = 0;  // FLOP/s of a large product
  double bandwidth = 0;  // bytes/s
  double half_work = 0;  // FLOPs of a launch at half the rate
};

struct Prediction {
  double seconds = 0;
  // The parts of `seconds` in launches held up by overhead, by arithmetic, by memory; they add up to it.
  double overhead = 0, arithmetic = 0, memory = 0;
};
Prediction predict(const CostModel& model, const StepWork& work);

struct MeasuredStep {
  std::string name;
  StepWork work;
  double seconds = 0;
};

struct CostFit {
  CostModel model;
  struct Row {
    std::string name;
    double seconds = 0, predicted = 0;
    double left_out = 0;  // predicted by a fit to the other steps alone; 0 where there are fewer than four steps
  };
  std::vector<Row> rows;
};

// The model with the least squares of log(predicted / measured), so that a fast step counts as much as a slow one. Throws Error
// without steps, or where one has no launches or no time above 0.
CostModel fit_cost_model(std::span<const MeasuredStep> steps);
// The same, with each step foretold from the others.
CostFit fit_with_residuals(std::span<const MeasuredStep> steps);

}  // namespace tabgrad
