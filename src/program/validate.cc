// Checks of a Program: after it, a runner may trust every index, size and access.
#include <algorithm>
#include <limits>

#include "program/program.h"

namespace tabgrad {
namespace {

// Larger than any real tensor, small enough that products of two stay in 64 bits.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

class Validator {
 public:
  Validator(const Program& program, std::string source) : program_(program), source_(std::move(source)) {}

  void run() {
    for (const Buffer& b : program_.buffers) buffer(b);
    for (const Entry& e : program_.entries) {
      check(e.arena_elements >= 0 && e.arena_elements <= kLargest, "arena size");
      for (const Launch& l : e.launches) launch(e, l);
    }
  }

 private:
  void check(bool ok, const char* what) const {
    if (!ok) fail(source_, ": damaged Program: ", what, " out of bounds", where_.empty() ? "" : " in " + where_);
  }

  std::int64_t product(const Dims& dims) const {
    std::int64_t n = 1;
    for (std::int64_t d : dims) {
      check(d >= 1 && d <= kLargest, "a size");
      n *= d;
      check(n <= kLargest, "a size");
    }
    return n;
  }

  void buffer(const Buffer& b) const {
    const std::int64_t n = product(b.dims);
    if (b.role == BufferRole::kConstant) check(static_cast<std::int64_t>(b.data.size()) == n * 4, "constant data");
    if (b.role == BufferRole::kActivation) check(b.arena_offset >= 0 && b.arena_offset <= kLargest, "arena offset");
  }

  void access(const FlatAccess& a, const Dims& space, std::int64_t elements) const {
    check(a.strides.size() == space.size(), "strides");
    Dims low(space.size(), 0), high = space;
    for (const DimRange& r : a.ranges) {
      check(r.dim >= 0 && r.dim < static_cast<int>(space.size()), "range");
      const auto d = static_cast<std::size_t>(r.dim);
      check(r.low >= 0 && r.low <= r.high && r.high <= space[d], "range");
      low[d] = std::max(low[d], r.low);
      high[d] = std::min(high[d], r.high);
    }
    std::int64_t first = a.offset, last = a.offset;
    check(a.offset >= -kLargest && a.offset <= kLargest, "offset");
    for (std::size_t i = 0; i < space.size(); ++i) {
      if (low[i] >= high[i]) return;  // nothing is read
      check(a.strides[i] >= -kLargest && a.strides[i] <= kLargest, "stride");
      const std::int64_t x = a.strides[i] * low[i], y = a.strides[i] * (high[i] - 1);
      first += std::min(x, y);
      last += std::max(x, y);
      check(first >= -kLargest * 4 && last <= kLargest * 4, "access");
    }
    check(first >= 0 && last < elements, "access");
  }

  void body(const Body& b, const std::vector<std::int64_t>& sizes, const Dims& store_space) const {
    product(b.space);
    for (const Load& l : b.loads) access(l.at, b.space, arg(l.arg, sizes));
    for (std::size_t i = 0; i < b.code.size(); ++i) {
      const Instr& in = b.code[i];
      const int before = static_cast<int>(i);
      auto operand = [&](int x) { check(x >= 0 && x < before, "operand"); };
      switch (in.kind) {
        case InstrKind::kLoad: check(in.index >= 0 && in.index < static_cast<int>(b.loads.size()), "load"); break;
        case InstrKind::kConst: break;
        case InstrKind::kUniform:
          check(in.index >= 0 && in.index < static_cast<int>(program_.uniforms.size()), "uniform");
          break;
        case InstrKind::kIndex:
        case InstrKind::kRandom: check(in.affine.coef.size() == b.space.size(), "index"); break;
        case InstrKind::kScalar:
          operand(in.a);
          if (scalar_info(in.scalar).arity > 1) operand(in.b);
          if (scalar_info(in.scalar).arity > 2) operand(in.c);
          break;
      }
    }
    for (const Store& s : b.stores) {
      check(s.value >= 0 && s.value < static_cast<int>(b.code.size()), "store");
      access(s.at, store_space, arg(s.arg, sizes));
    }
  }

  std::int64_t arg(int index, const std::vector<std::int64_t>& sizes) const {
    check(index >= 0 && index < static_cast<int>(sizes.size()) && sizes[static_cast<std::size_t>(index)] > 0, "argument");
    return sizes[static_cast<std::size_t>(index)];
  }

  void contract(const Kernel& k, const std::vector<std::int64_t>& sizes) const {
    const Contract& c = k.contract;
    check(product({c.batch, c.m, c.n}) <= arg(2, sizes), "product");
    check(c.k >= 1, "depth");
    access({{c.a_batch, c.a_m, c.a_k}, c.a_offset, {}}, {c.batch, c.m, c.k}, arg(0, sizes));
    access({{c.b_batch, c.b_k, c.b_n}, c.b_offset, {}}, {c.batch, c.k, c.n}, arg(1, sizes));
    auto unit = [](std::int64_t rows, std::int64_t row, std::int64_t cols, std::int64_t col) {
      return row == 1 || col == 1 || rows == 1 || cols == 1;
    };
    check(unit(c.m, c.a_m, c.k, c.a_k) && unit(c.k, c.b_k, c.n, c.b_n), "operand strides");
    if (k.body.code.empty()) return;
    check(!k.body.space.empty() && k.body.space.back() == c.n && product(k.body.space) == c.batch * c.m * c.n, "epilogue");
    body(k.body, sizes, k.body.space);
  }

  void launch(const Entry& entry, const Launch& l) {
    where_ = str("entry '", entry.name, "', launch '", l.label, "'");
    check(l.kernel >= 0 && l.kernel < static_cast<int>(program_.kernels.size()), "kernel");
    const Kernel& k = program_.kernels[static_cast<std::size_t>(l.kernel)];
    std::vector<std::int64_t> sizes;
    for (int a : l.args) {
      check(a >= -1 && a < static_cast<int>(program_.buffers.size()), "buffer");
      if (a < 0) {
        sizes.push_back(0);
        continue;
      }
      const Buffer& b = program_.buffers[static_cast<std::size_t>(a)];
      sizes.push_back(num_elements(b.dims));
      if (b.role == BufferRole::kActivation) check(b.arena_offset + sizes.back() <= entry.arena_elements, "activation");
    }
    switch (k.kind) {
      case KernelKind::kMap: body(k.body, sizes, k.body.space); break;
      case KernelKind::kReduce: {
        const std::size_t rank = k.body.space.size(), tail = k.keep_last ? 1 : 0;
        check(k.reduced >= 0 && static_cast<std::size_t>(k.reduced) + tail <= rank && k.body.stores.size() == 1, "reduction");
        Dims kept(k.body.space.begin(), k.body.space.end() - k.reduced - static_cast<std::ptrdiff_t>(tail));
        if (tail) kept.push_back(k.body.space.back());
        body(k.body, sizes, kept);
        break;
      }
      case KernelKind::kContract: contract(k, sizes); break;
      case KernelKind::kGather:
      case KernelKind::kSegmentSum:
      case KernelKind::kComposite: whole_args(k, sizes); break;
    }
    where_.clear();
  }

  // Kernels that take dense arguments: the shapes must be the buffers', and fit each other as the graph's rules have it.
  void whole_args(const Kernel& k, const std::vector<std::int64_t>& sizes) const {
    check(k.arg_dims.size() == sizes.size() && !sizes.empty(), "argument count");
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] > 0) check(product(k.arg_dims[i]) == sizes[i], "argument size");
    check(composite_shapes_fit(k), "argument shapes");
  }

  bool composite_shapes_fit(const Kernel& k) const;

  const Program& program_;
  std::string source_, where_;
};

// Written as the list of equal shapes that each kernel relies on.
bool Validator::composite_shapes_fit(const Kernel& k) const {
  const std::vector<Dims>& d = k.arg_dims;
  auto ranks = [&](std::initializer_list<std::size_t> want) {
    if (d.size() != want.size()) return false;
    std::size_t i = 0;
    for (std::size_t r : want)
      if (d[i++].size() != r) return false;
    return true;
  };
  if (k.kind == KernelKind::kGather) return ranks({2, 1, 2}) && d[2] == Dims{d[1][0], d[0][1]};
  if (k.kind == KernelKind::kSegmentSum) return ranks({1, 2, 2}) && d[1][0] == d[0][0] && d[1][1] == d[2][1];
  switch (k.composite) {
    case Composite::kSoftmax:
      return k.grad ? ranks({2, 2, 2, 2}) && d[0] == d[1] && d[1] == d[2] && d[2] == d[3] : ranks({2, 2}) && d[0] == d[1];
    case Composite::kLayerNorm: {
      if (!(k.grad ? ranks({2, 1, 1, 2, 1, 1, 2, 2, 1, 1}) : ranks({2, 1, 1, 2, 1, 1}))) return false;
      const Dims rows{d[0][0]}, cols{d[0][1]};
      return d[1] == cols && d[2] == cols && d[3] == d[0] && d[4] == rows && d[5] == rows &&
             (!k.grad || (d[6] == d[0] && d[7] == d[0] && d[8] == cols && d[9] == cols));
    }
    case Composite::kRmsNorm: {
      if (!(k.grad ? ranks({2, 1, 2, 1, 2, 2, 1}) : ranks({2, 1, 2, 1}))) return false;
      const Dims rows{d[0][0]}, cols{d[0][1]};
      return d[1] == cols && d[2] == d[0] && d[3] == rows && (!k.grad || (d[4] == d[0] && d[5] == d[0] && d[6] == cols));
    }
    case Composite::kCrossEntropy: {
      if (!(k.grad ? ranks({2, 1, 1, 1, 1, 2}) : ranks({2, 1, 1, 1}))) return false;
      const Dims rows{d[0][0]};
      return d[1] == rows && d[2] == rows && d[3] == rows && (!k.grad || (d[4] == rows && d[5] == d[0]));
    }
    case Composite::kAttention: {
      const std::int64_t h = k.attrs.heads, kv = k.attrs.kv_heads;
      if (!(k.grad ? ranks({3, 3, 3, 3, 3}) : ranks({3, 3, 3})) || h < 1 || kv < 1 || h % kv != 0) return false;
      if (d[0][2] % (h + 2 * kv) != 0) return false;
      const Dims out{d[0][0], d[0][1], d[0][2] / (h + 2 * kv) * h};
      return d[1] == out && d[2] == Dims{d[0][0], h, d[0][1]} && (!k.grad || (d[3] == out && d[4] == d[0]));
    }
    case Composite::kLstm:
    case Composite::kGru: {
      const bool lstm = k.composite == Composite::kLstm;
      const std::int64_t gates = lstm ? 4 : 3;
      const std::size_t third = lstm ? 2 : 1;
      if (!(k.grad ? ranks({3, 2, third, 2, 3, 3, 3, 3, 3, 2, third, 2}) : ranks({3, 2, third, 2, 3, 3, 3}))) return false;
      const std::int64_t n = d[1][0];
      const Dims seq{d[0][0], d[0][1], n}, state{d[0][1], n};
      const Dims extra = lstm ? state : Dims{3 * n};
      return d[0][2] == gates * n && d[1][1] == gates * n && d[2] == extra && d[3] == state && d[4] == seq && d[5] == d[0] &&
             d[6] == seq && (!k.grad || (d[7] == seq && d[8] == d[0] && d[9] == d[1] && d[10] == extra && d[11] == state));
    }
    case Composite::kSumSquares: return d.size() >= 2 && d.back().empty();
    case Composite::kSgd:
    case Composite::kAdam: {
      const std::size_t each = k.composite == Composite::kSgd ? 3 : 4;
      if ((d.size() - 1) % each != 0 || (d.size() - 1) / each != k.weight_decay.size() || !d[0].empty()) return false;
      for (std::size_t i = 1; i < d.size(); ++i)
        if (d[i] != d[1 + (i - 1) / each * each]) return false;
      return true;
    }
  }
  return false;
}

}  // namespace

void validate(const Program& program, const std::string& source) { Validator(program, source).run(); }

}  // namespace tabgrad
