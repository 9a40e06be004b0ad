#include "backend/cpu/block_vm.h"

#include <algorithm>
#include <cstring>

namespace tabgrad::cpu {
namespace {

constexpr int kMaxRank = 12;
constexpr int kSpill = 3;  // registers that hold numbers spread for operations without a form for them

bool ranged_last(const FlatAccess& a, std::size_t rank) {
  return std::any_of(a.ranges.begin(), a.ranges.end(), [&](const DimRange& r) { return r.dim == static_cast<int>(rank) - 1; });
}

}  // namespace

BlockVm::BlockVm(const Body& body, std::vector<float*> args, const RunValues& values, int keep_value)
    : body_(body), args_(std::move(args)), values_(values), keep_(keep_value) {
  const std::size_t rank = body.space.size();
  if (rank > kMaxRank || body.code.size() > kMaxCode)
    fail("[cpu] a kernel of ", body.code.size(), " operations over ", rank, " dimensions is too large for the interpreter");
  for (std::size_t i = 0; i + 1 < rank; ++i) rows_ *= body.space[i];
  if (rank) cols_ = body.space.back();

  // Which values are one number a row.
  for (const Instr& in : body.code) {
    Step step;
    step.instr = in;
    auto uniform = [&](int i) { return i < 0 || steps_[static_cast<std::size_t>(i)].uniform; };
    switch (in.kind) {
      case InstrKind::kConst:
      case InstrKind::kUniform: step.uniform = true; break;
      case InstrKind::kLoad: {
        const Load& l = body.loads[static_cast<std::size_t>(in.index)];
        step.uniform = rank == 0 || (l.at.strides.back() == 0 && !ranged_last(l.at, rank));
        break;
      }
      case InstrKind::kIndex: step.uniform = rank == 0 || in.affine.coef.back() == 0; break;
      case InstrKind::kRandom: step.uniform = rank == 0; break;
      case InstrKind::kScalar:
        step.uniform = uniform(in.a) && uniform(in.b) && uniform(in.c);
        step.op = block_op(in.scalar);
        if (scalar_info(in.scalar).arity == 2) {
          step.right = block_op_const_right(in.scalar);
          step.left = block_op_const_left(in.scalar);
        }
        break;
    }
    steps_.push_back(step);
  }

  // Registers by last use: a block dies after the instruction that reads it last.
  std::vector<int> last(body.code.size(), -1);
  for (std::size_t i = 0; i < body.code.size(); ++i)
    for (int operand : {body.code[i].a, body.code[i].b, body.code[i].c})
      if (operand >= 0) last[static_cast<std::size_t>(operand)] = static_cast<int>(i);
  const int end = static_cast<int>(body.code.size());
  for (const Store& s : body.stores) last[static_cast<std::size_t>(s.value)] = end;
  if (keep_ >= 0) last[static_cast<std::size_t>(keep_)] = end;
  std::vector<int> free;
  int used = kSpill;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    // Operands may share the result's register: block operations allow it.
    for (int operand : {body.code[i].a, body.code[i].b, body.code[i].c}) {
      if (operand < 0 || last[static_cast<std::size_t>(operand)] != static_cast<int>(i)) continue;
      int& target = steps_[static_cast<std::size_t>(operand)].target;
      if (target >= 0 && std::find(free.begin(), free.end(), target) == free.end()) free.push_back(target);
    }
    if (steps_[i].uniform) continue;
    if (free.empty()) {
      steps_[i].target = used++;
    } else {
      steps_[i].target = free.back();
      free.pop_back();
    }
  }
  registers_ = used;
}

void BlockVm::row_index(std::int64_t row, std::int64_t* index) const {
  for (std::size_t d = body_.space.size(); d-- > 1;) {
    const std::int64_t size = body_.space[d - 1];
    index[d - 1] = row % size;
    row /= size;
  }
}

void BlockVm::load(const Load& l, const Step& step, const std::int64_t* index, std::int64_t col, std::int64_t n, float* out,
                   Slot& slot) const {
  const std::size_t rank = body_.space.size();
  std::int64_t at = l.at.offset;
  for (std::size_t d = 0; d + 1 < rank; ++d) at += l.at.strides[d] * index[d];
  std::int64_t low = 0, high = cols_;
  for (const DimRange& r : l.at.ranges) {
    if (r.dim + 1 == static_cast<int>(rank)) {
      low = std::max(low, r.low);
      high = std::min(high, r.high);
    } else if (index[r.dim] < r.low || index[r.dim] >= r.high) {
      high = 0;
    }
  }
  const std::int64_t stride = rank ? l.at.strides.back() : 0;
  const float* source = args_[static_cast<std::size_t>(l.arg)] + at;
  auto element = [&](std::int64_t c) {
    if (!l.ids) return source[c * stride];
    std::int32_t id;
    std::memcpy(&id, source + c * stride, sizeof id);
    return static_cast<float>(id);
  };
  if (step.uniform) {
    slot.number = high > 0 ? element(0) : 0.0f;
    return;
  }
  if (stride == 1 && !l.ids && low <= col && col + n <= high) {
    slot.block = source + col;
    return;
  }
  const std::int64_t first = std::clamp(low - col, std::int64_t{0}, n), last = std::clamp(high - col, first, n);
  for (std::int64_t i = 0; i < first; ++i) out[i] = 0;
  if (stride == 1 && !l.ids) {
    std::copy(source + col + first, source + col + last, out + first);
  } else {
    for (std::int64_t i = first; i < last; ++i) out[i] = element(col + i);
  }
  for (std::int64_t i = last; i < n; ++i) out[i] = 0;
  slot.block = out;
}

void BlockVm::block(const std::int64_t* index, std::int64_t col, std::int64_t n, float* registers, Slot* slots) const {
  const std::size_t rank = body_.space.size();
  auto affine = [&](const Affine& a) {
    std::int64_t at = a.offset;
    for (std::size_t d = 0; d + 1 < rank; ++d) at += a.coef[d] * index[d];
    return at + (rank ? a.coef.back() * col : 0);
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const Instr& in = step.instr;
    Slot& slot = slots[i];
    float* out = step.target >= 0 ? registers + step.target * kBlock : nullptr;
    switch (in.kind) {
      case InstrKind::kConst: slot.number = in.value; break;
      case InstrKind::kUniform: slot.number = values_.uniforms[static_cast<std::size_t>(in.index)]; break;
      case InstrKind::kLoad: load(body_.loads[static_cast<std::size_t>(in.index)], step, index, col, n, out, slot); break;
      case InstrKind::kIndex: {
        const std::int64_t first = affine(in.affine);
        if (step.uniform) {
          slot.number = static_cast<float>(first);
          break;
        }
        for (std::int64_t k = 0; k < n; ++k) out[k] = static_cast<float>(first + k * in.affine.coef.back());
        slot.block = out;
        break;
      }
      case InstrKind::kRandom: {
        const auto first = static_cast<std::uint64_t>(affine(in.affine));
        const auto stream = static_cast<std::uint32_t>(in.index);
        const std::int64_t stride = rank ? in.affine.coef.back() : 0;
        float* to = step.uniform ? &slot.number : out;
        if (step.uniform || stride == 1) {
          block_random(values_.seed, stream, values_.step, first, to, n);
        } else {
          for (std::int64_t k = 0; k < n; ++k)
            block_random(values_.seed, stream, values_.step, first + static_cast<std::uint64_t>(k * stride), to + k, 1);
        }
        slot.block = to;
        break;
      }
      case InstrKind::kScalar: {
        const int operands[] = {in.a, in.b, in.c};
        if (step.uniform) {
          const float* p[3] = {nullptr, nullptr, nullptr};
          for (int k = 0; k < 3; ++k)
            if (operands[k] >= 0) p[k] = &slots[operands[k]].number;
          step.op(p[0], p[1], p[2], &slot.number, 1);
          break;
        }
        slot.block = out;
        auto is_number = [&](int k) { return operands[k] >= 0 && steps_[static_cast<std::size_t>(operands[k])].uniform; };
        if (is_number(1) && step.right) {
          step.right(slots[in.a].block, slots[in.b].number, out, n);
          break;
        }
        if (is_number(0) && step.left) {
          step.left(slots[in.b].block, slots[in.a].number, out, n);
          break;
        }
        const float* p[3] = {nullptr, nullptr, nullptr};
        for (int k = 0; k < 3; ++k) {
          if (operands[k] < 0) continue;
          p[k] = slots[operands[k]].block;
          if (is_number(k)) {
            float* spread = registers + k * kBlock;
            std::fill(spread, spread + n, slots[operands[k]].number);
            p[k] = spread;
          }
        }
        step.op(p[0], p[1], p[2], out, n);
        break;
      }
    }
  }
}

void BlockVm::store(const Store& s, const Slot& slot, bool uniform, const std::int64_t* index, std::int64_t col,
                    std::int64_t n) const {
  const std::size_t rank = body_.space.size();
  std::int64_t at = s.at.offset;
  for (std::size_t d = 0; d + 1 < rank; ++d) at += s.at.strides[d] * index[d];
  const std::int64_t stride = rank ? s.at.strides.back() : 0;
  float* to = args_[static_cast<std::size_t>(s.arg)] + at + col * stride;
  if (uniform) {
    for (std::int64_t i = 0; i < n; ++i) to[i * stride] = slot.number;
  } else if (stride == 1) {
    if (slot.block != to) std::memmove(to, slot.block, static_cast<std::size_t>(n) * sizeof(float));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * stride] = slot.block[i];
  }
}

void BlockVm::run(std::int64_t row_begin, std::int64_t row_end, std::int64_t col_begin, std::int64_t col_end,
                  float* registers) const {
  Slot slots[kMaxCode];
  std::int64_t index[kMaxRank] = {};
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    row_index(row, index);
    for (std::int64_t col = col_begin; col < col_end; col += kBlock) {
      const std::int64_t n = std::min(kBlock, col_end - col);
      block(index, col, n, registers, slots);
      // Plain copies of a load go first: another store may overwrite, in place, what they read.
      for (bool loads : {true, false}) {
        for (const Store& s : body_.stores) {
          const Step& step = steps_[static_cast<std::size_t>(s.value)];
          if ((step.instr.kind == InstrKind::kLoad) == loads) store(s, slots[s.value], step.uniform, index, col, n);
        }
      }
    }
  }
}

const float* BlockVm::evaluate(std::int64_t row, std::int64_t col, std::int64_t n, float* registers) const {
  Slot slots[kMaxCode];
  std::int64_t index[kMaxRank] = {};
  row_index(row, index);
  block(index, col, n, registers, slots);
  const Slot& kept = slots[keep_];
  if (!steps_[static_cast<std::size_t>(keep_)].uniform) return kept.block;
  std::fill(registers, registers + n, kept.number);
  return registers;
}

}  // namespace tabgrad::cpu
