// Backend: what a target's runner offers to the engine. One Backend holds one loaded Program and its buffers.
//
// run() only enqueues; read() waits. Steady state allocates nothing. User mistakes (unknown name, wrong size) throw Error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernel/caps.h"
#include "program/program.h"
#include "tensor/host_tensor.h"

namespace tabgrad {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string description() const = 0;  // "cpu: 2 threads, AVX3"

  // Buffers by name: parameters, state, inputs and outputs. `count` elements of the buffer's type.
  virtual void write(const std::string& buffer, const void* data, std::int64_t count) = 0;
  virtual void read(const std::string& buffer, void* data, std::int64_t count) = 0;

  virtual void set_uniform(const std::string& name, float value) = 0;
  virtual void set_random(std::uint64_t seed, std::uint32_t step) = 0;  // keys of kRandom

  virtual void run(const std::string& entry) = 0;
  // The same, waited for, with the seconds of each so many launches by the device's own clock (which costs some microseconds itself);
  // empty, and nothing has run, where it has none.
  virtual std::vector<double> run_timed([[maybe_unused]] const std::string& entry, [[maybe_unused]] int launches_at_once) {
    return {};
  }

  // How many runs may be under way at once. 1: each is done when run() returns.
  virtual int runs_in_flight() const { return 1; }
  // A small output (a loss) as the run left it that came `runs_ago` before the last, runs_ago < runs_in_flight(). Waits for that run
  // alone, so that the device never waits for the host.
  virtual void read_earlier(const std::string& output, [[maybe_unused]] int runs_ago, void* data, std::int64_t count) {
    read(output, data, count);
  }

  virtual const Program& program() const = 0;
};

}  // namespace tabgrad
