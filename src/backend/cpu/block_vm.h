// The block interpreter: runs a kernel body over blocks of up to kBlock elements that stay in the L1 cache (a browser has no
// compiler; see DESIGN D6).
//
// The space is seen as rows × its last dimension; a call handles a rectangle of it. Values that are the same along a row
// (constants, uniforms, loads of stride 0) are kept as one number and never spread over a block where an operation takes a
// number. Loads of stride 1 are read where they lie.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/kernels.h"
#include "kernel/kernel.h"

namespace tabgrad::cpu {

inline constexpr std::int64_t kBlock = 256;

// What a body reads besides its arguments; owned by the backend, the same for a whole run.
struct RunValues {
  std::vector<float> uniforms;
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
};

class BlockVm {
 public:
  // args: the launch's buffers. Both outlive the machine. keep_value: an instruction whose block the caller reads (reductions).
  BlockVm(const Body& body, std::vector<float*> args, const RunValues& values, int keep_value = -1);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t register_floats() const { return registers_ * kBlock; }

  // Evaluates and stores [row_begin,row_end) × [col_begin,col_end). registers: register_floats() of scratch.
  void run(std::int64_t row_begin, std::int64_t row_end, std::int64_t col_begin, std::int64_t col_end, float* registers) const;
  // Evaluates one block (n ≤ kBlock) of one row and returns the kept value's n elements.
  const float* evaluate(std::int64_t row, std::int64_t col, std::int64_t n, float* registers) const;

 private:
  struct Row;  // where a row starts for every load, store and index
  struct Step {
    Instr instr;
    bool uniform = false;  // one number a row
    int target = -1;  // register
    BlockOp op = nullptr;
    BlockOpConst right = nullptr, left = nullptr;
  };
  static constexpr int kMaxCode = 512;
  struct Slot {
    const float* block;
    float number;
  };

  void block(const std::int64_t* index, std::int64_t col, std::int64_t n, float* registers, Slot* slots) const;
  void load(const Load& l, const Step& step, const std::int64_t* index, std::int64_t col, std::int64_t n, float* out,
            Slot& slot) const;
  void store(const Store& s, const Slot& slot, bool uniform, const std::int64_t* index, std::int64_t col, std::int64_t n) const;
  void row_index(std::int64_t row, std::int64_t* index) const;

  const Body& body_;
  std::vector<float*> args_;
  const RunValues& values_;
  int keep_;
  std::int64_t rows_ = 1, cols_ = 1;
  std::int64_t registers_ = 0;
  std::vector<Step> steps_;
};

}  // namespace tabgrad::cpu
