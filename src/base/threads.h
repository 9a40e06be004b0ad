// A persistent pool of threads for loops whose tasks are independent.
//
// Invariants: results never depend on which thread ran a task, nor on the number of threads (tasks are cut by shape alone).
// parallel_for allocates nothing. Threads are made once, spin briefly for the next loop, then sleep.
// Where threads are absent (single-threaded WASM) the pool has one worker: the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tabgrad {

class ThreadPool {
 public:
  // threads: workers including the caller; 0 = TABGRAD_THREADS or the number of cores.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls fn(context, task, worker) once for each task in [0, tasks); worker in [0, threads()) names a scratch slot.
  // Returns when all are done. Not reentrant.
  using Task = void (*)(void* context, std::int64_t task, int worker);
  void parallel_for(std::int64_t tasks, Task fn, void* context);

  // The same for a callable: pool.run(n, [&](int64_t task, int worker) {...}).
  template <typename F>
  void run(std::int64_t tasks, F&& body) {
    parallel_for(
        tasks,
        [](void* context, std::int64_t task, int worker) {
          (*static_cast<std::remove_reference_t<F>*>(context))(task, worker);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tabgrad
