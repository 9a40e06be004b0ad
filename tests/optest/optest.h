// optest: checks an op, or a whole train step, in every way there is, from one description of it.
//
// A Case says what goes in and how the graph is built. It is judged by
//   oracle_grad   gradients() evaluated by the double-precision oracle against finite differences of the oracle's values;
//   each row of kTargets: the compiled Program run by a target, against the oracle (within the case's tolerance) or against
//                 the first row bit for bit (more threads, no shared memory, through bytes and back).
// A new target is a new row. A new op is a row in tests/cases/.
//
// Invariants: inputs are drawn by name and are exact in f32, so oracle and targets see the same numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "graph/build.h"
#include "graph/evaluate.h"

namespace tabgrad::optest {

// One input of a case, uniform in [low, high).
struct Spec {
  std::string name{};
  Dims dims{};
  double low = -1, high = 1;
  bool grad = true;              // is the gradient with respect to it asked for?
  std::int64_t ids = 0;          // > 0: i32, whole numbers in [0, ids)
  bool whole = false;            // rounded to whole numbers
  std::vector<double> values{};  // given instead of drawn
  Role role = Role::kInput;
};

// Passes when ‖Δ‖ ≤ rel·‖ref‖ + abs·√n and max|Δ| ≤ 10·(rel·max|ref| + abs). Where the reference is infinite or NaN in f32, so
// must be the result. The default suits a handful of f32 operations on numbers near 1.
struct Tolerance {
  double rel = 2e-6, abs = 2e-7;
};

struct Case {
  std::string name{};  // letters, digits and _
  std::vector<Spec> inputs{};
  // Returns the outputs; may add updates to the graph (then it is one training step, and `steps` of them are run).
  std::function<std::vector<Tensor>(Graph&, const std::vector<Tensor>&)> build{};
  Tolerance forward{}, backward{1e-5, 1e-6};
  bool gradients = true;    // of a random weighted sum of the outputs, for the inputs that say so
  bool differences = true;  // is that sum smooth around the inputs?
  double h = 1e-4;          // step of the differences
  int steps = 1;
  std::function<std::map<std::string, double>(int step)> uniforms{};
  bool large = false;  // left out of sanitizer builds
};

// A case made concrete.
struct Prepared {
  Graph forward;   // outputs f0, f1, …: the values alone, as in `predict`
  Graph backward;  // outputs y0, y1, …, the gradient of input x as "d_x", updates
  NamedTensors inputs;
  std::vector<std::string> differentiated;
};
Prepared prepare(const Case& test);

// Values by name: outputs of step s as "y0@s" (step 0: "y0"), buffers updated by step s as "p@s+1", and the forward graph's
// outputs after all steps.
using Reference = std::map<std::string, std::vector<double>>;
using Result = std::map<std::string, std::vector<float>>;

std::map<std::string, double> uniforms_of(const Case& test, int step);
std::uint64_t seed_of(const Case& test);  // of its inputs and of its graph's random numbers
inline std::string at_step(const std::string& name, int step) { return step ? name + "@" + std::to_string(step) : name; }
Reference oracle(const Case& test, const Prepared& prepared);
// Empty, or what differs: one line for each value.
std::string check_differences(const Case& test, const Prepared& prepared, const Reference& reference);

struct Target {
  const char* name;
  SessionOptions options;
  bool same_bits;  // as the first row, rather than near the oracle
  bool reload;     // the Program goes through its bytes
  double rounding = 0;  // that it may add to the relative tolerance, of values that it stores rounded
};
const std::vector<Target>& targets();
Session open(const Target& target, const std::vector<EntryGraph>& entries);
Result run(const Target& target, const Case& test, const Prepared& prepared);
std::string check_near(const Case& test, const Reference& reference, const Result& result, double rounding);
std::string check_same_bits(const Result& want, const Result& got);
std::string check_one(const std::string& name, const std::vector<double>& want, const std::vector<float>& got,
                      Tolerance tolerance);

const std::vector<Case>& all_cases();
// static const bool kAdded = add_cases({...}); in each file of tests/cases.
bool add_cases(std::vector<Case> cases);
std::vector<float> random_values(std::uint64_t seed, std::uint32_t stream, std::int64_t n, double low, double high);

}  // namespace tabgrad::optest
