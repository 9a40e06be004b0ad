// Embedding rows: gather, and its gradient as sums over ids that were sorted beforehand (no atomics, a fixed order).
// Copies and additions of whole rows only, which compilers vectorise and memory limits: no instruction-set variants.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels.h"

namespace tabgrad::cpu {
namespace {

using std::int64_t;

constexpr int64_t kTaskFloats = 16384;  // a few microseconds at the speed of memory

int64_t rows_per_task(int64_t cols) { return std::max<int64_t>(1, kTaskFloats / std::max<int64_t>(1, cols)); }

}  // namespace

void gather_rows(int64_t n, int64_t cols, int64_t vocabulary, const float* table, const std::int32_t* ids, float* out,
                 ThreadPool& pool) {
  const int64_t step = rows_per_task(cols);
  const auto bytes = static_cast<std::size_t>(cols) * sizeof(float);
  pool.run((n + step - 1) / step, [&](int64_t task, int) {
    const int64_t end = std::min(n, (task + 1) * step);
    for (int64_t i = task * step; i < end; ++i) {
      const int64_t id = ids[i];
      if (id >= 0 && id < vocabulary) {
        std::memcpy(out + i * cols, table + id * cols, bytes);
      } else {
        std::memset(out + i * cols, 0, bytes);
      }
    }
  });
}

// Counting sort. offsets[v + 1] first counts v's ids, then holds the place for the next of them.
void sort_ids(int64_t n, int64_t vocabulary, const std::int32_t* ids, std::int32_t* order, std::int32_t* offsets) {
  const auto valid = [&](std::int32_t id) { return id >= 0 && id < vocabulary; };
  std::fill(offsets, offsets + vocabulary + 1, 0);
  for (int64_t i = 0; i < n; ++i) {
    if (valid(ids[i])) ++offsets[ids[i] + 1];
  }
  std::int32_t before = 0;
  for (int64_t v = 0; v < vocabulary; ++v) {
    const std::int32_t count = offsets[v + 1];
    offsets[v + 1] = before;
    before += count;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (valid(ids[i])) order[offsets[ids[i] + 1]++] = static_cast<std::int32_t>(i);
  }
}

void segment_sum(int64_t vocabulary, int64_t cols, const float* rows, const std::int32_t* order, const std::int32_t* offsets,
                 float* dtable, ThreadPool& pool) {
  // Ids are far from evenly spread (a space can be a fifth of a text), hence small tasks.
  const int64_t step = std::max<int64_t>(1, std::min<int64_t>(rows_per_task(cols), vocabulary / 64));
  pool.run((vocabulary + step - 1) / step, [&](int64_t task, int) {
    const int64_t end = std::min(vocabulary, (task + 1) * step);
    for (int64_t v = task * step; v < end; ++v) {
      float* sum = dtable + v * cols;
      const std::int32_t first = offsets[v], last = offsets[v + 1];
      if (first == last) {
        std::fill(sum, sum + cols, 0.0f);
        continue;
      }
      const float* row = rows + int64_t{order[first]} * cols;
      std::copy(row, row + cols, sum);
      for (std::int32_t i = first + 1; i < last; ++i) {
        row = rows + int64_t{order[i]} * cols;
        for (int64_t c = 0; c < cols; ++c) sum[c] += row[c];
      }
    }
  });
}

}  // namespace tabgrad::cpu
