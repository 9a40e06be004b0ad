// ThreadPool: how the workers wait, claim tasks and report.
//
// A loop is published as one 64-bit ticket: its number in the upper half, the tasks not yet claimed in the lower. A worker
// claims a task by lowering the ticket with compare-and-swap. The number in it makes a claim from an older loop fail, and a
// claim that succeeds keeps the loop open, so the loop's other fields can be read without a lock.
// Does not: pin threads, steal work, or run a loop inside a loop.
#include "base/threads.h"

#include <atomic>
#include <climits>
#include <thread>
#include <vector>

#include "base/flags.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace tabgrad {
namespace {

#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kHaveThreads = false;
#else
constexpr bool kHaveThreads = true;
#endif

constexpr int kMaxThreads = 256;
// The next loop of a train step comes within microseconds, the next step within a fraction of a millisecond, and waking a
// sleeping thread can take a virtual machine longer than a whole loop: with 20 µs of patience the workers of a 0.4 ms product
// never caught up. So about 1 ms: a pause takes about 50 ns on recent x86, WebAssembly's fence about 8.
#if defined(__EMSCRIPTEN__)
constexpr int kSpins = 125000;
#else
constexpr int kSpins = 20000;
#endif

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // about as long as x86's pause; yield returns at once
#elif defined(__EMSCRIPTEN__)
  std::atomic_thread_fence(std::memory_order_seq_cst);  // there is no pause; this leaves the other threads' cache lines alone
#endif
}

// A number that threads wait on until it changes, as std::atomic's wait and notify.
class Gate {
 public:
  std::uint32_t load() const { return word_.load(std::memory_order_acquire); }
  void store_quietly(std::uint32_t value) { word_.store(value, std::memory_order_relaxed); }
  std::uint32_t add(std::uint32_t n) { return word_.fetch_add(n, std::memory_order_acq_rel) + n; }

#if defined(__EMSCRIPTEN_PTHREADS__)
  // libc++'s wait polls on WebAssembly, which has an instruction for it. Waking is a call out of WebAssembly, so those who
  // sleep are counted. Sequential consistency: either the sleeper sees the new number or the waker sees the sleeper.
  void store(std::uint32_t value) { word_.store(value, std::memory_order_seq_cst); }
  void wait(std::uint32_t value) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word_), static_cast<int>(value), -1);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }
  void wake() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word_), UINT_MAX);
  }

 private:
  std::atomic<std::uint32_t> sleepers_{0};
#else
  void store(std::uint32_t value) { word_.store(value, std::memory_order_release); }
  void wait(std::uint32_t value) { word_.wait(value, std::memory_order_acquire); }
  void wake() { word_.notify_all(); }

 private:
#endif
  std::atomic<std::uint32_t> word_{0};
};

int threads_from_environment() {
  const int asked = flags::threads();
  if (asked > 0) return asked < kMaxThreads ? asked : kMaxThreads;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores < kMaxThreads ? cores : kMaxThreads);
}

constexpr std::uint64_t kCountMask = 0xFFFFFFFFu;

}  // namespace

struct ThreadPool::Impl {
  // Fields of the open loop. Written only between loops, when no claim can succeed.
  Task fn = nullptr;
  void* context = nullptr;
  std::uint32_t tasks = 0;
  std::int64_t first = 0;

  // Each on a cache line of its own: the ticket is fought over while the others are polled.
  alignas(64) std::atomic<std::uint64_t> ticket{0};
  alignas(64) Gate done;
  alignas(64) Gate loop_number;
  std::atomic<bool> stop{false};
  int spins = kSpins;
  std::vector<std::thread> workers;

  void work(int worker, std::uint32_t number) {
    std::uint64_t seen = ticket.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(seen >> 32) == number && (seen & kCountMask) != 0) {
      if (!ticket.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      const std::uint32_t count = tasks;
      const auto index = static_cast<std::int64_t>(count - static_cast<std::uint32_t>(seen & kCountMask));
      fn(context, first + index, worker);
      if (done.add(1) == count) done.wake();
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  void worker_main(int worker) {
    std::uint32_t last = 0;
    while (true) {
      std::uint32_t now = loop_number.load();
      for (int i = 0; now == last && i < spins; ++i) {
        relax();
        now = loop_number.load();
      }
      if (now == last) {
        loop_number.wait(last);
        continue;
      }
      if (stop.load(std::memory_order_acquire)) return;
      last = now;
      work(worker, now);
    }
  }

  void loop(std::int64_t first_task, std::uint32_t count, Task task_fn, void* task_context) {
    fn = task_fn;
    context = task_context;
    first = first_task;
    tasks = count;
    done.store_quietly(0);
    const std::uint32_t number = loop_number.load() + 1;
    ticket.store((static_cast<std::uint64_t>(number) << 32) | count, std::memory_order_release);
    loop_number.store(number);
    loop_number.wake();
    work(0, number);
    std::uint32_t finished = done.load();
    for (int i = 0; finished != count && i < spins; ++i) {
      relax();
      finished = done.load();
    }
    while (finished != count) {
      done.wait(finished);
      finished = done.load();
    }
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  int count = threads > 0 ? (threads < kMaxThreads ? threads : kMaxThreads) : threads_from_environment();
  if constexpr (!kHaveThreads) count = 1;
  // More threads than cores: a spinning thread would hold up one that has work.
  if (count > static_cast<int>(std::thread::hardware_concurrency())) impl_->spins = 0;
  impl_->workers.reserve(static_cast<std::size_t>(count - 1));
  for (int worker = 1; worker < count; ++worker) {
    impl_->workers.emplace_back([impl = impl_.get(), worker] { impl->worker_main(worker); });
  }
}

ThreadPool::~ThreadPool() {
  impl_->stop.store(true, std::memory_order_release);
  impl_->loop_number.add(1);
  impl_->loop_number.wake();
  for (std::thread& worker : impl_->workers) worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::parallel_for(std::int64_t tasks, Task fn, void* context) {
  if (tasks <= 1 || impl_->workers.empty()) {
    for (std::int64_t task = 0; task < tasks; ++task) fn(context, task, 0);
    return;
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // what fits in the ticket's lower half
  for (std::int64_t first = 0; first < tasks; first += kMost) {
    impl_->loop(first, static_cast<std::uint32_t>(tasks - first < kMost ? tasks - first : kMost), fn, context);
  }
}

}  // namespace tabgrad
