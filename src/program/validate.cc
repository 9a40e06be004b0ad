// Checks of a Program: after it, a runner may trust every index, size and access.
#include <algorithm>
#include <optional>
#include <set>

#include "kernel/texture.h"
#include "program/program.h"

namespace tabgrad {
namespace {

// Larger than any real tensor, small enough that products of two stay in 64 bits.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;
// In place of a buffer's size: an index is a number, no place.
constexpr std::int64_t kAnything = -1;

class Validator {
 public:
  Validator(const Program& program, std::string source) : program_(program), source_(std::move(source)) {}

  void run() {
    std::set<std::string> names, entries;
    for (std::int64_t n : program_.packs) product({n});
    check(program_.subgroups >= 0 && program_.subgroups <= 128, "subgroup size");
    for (const Buffer& b : program_.buffers) {
      buffer(b);
      check(b.role == BufferRole::kActivation || names.insert(b.name).second, "buffer names");
    }
    for (const Entry& e : program_.entries) {
      check(entries.insert(e.name).second, "entry names");
      check(e.arena_elements >= 0 && e.arena_elements <= kLargest, "arena size");
      for (const Launch& l : e.launches) launch(e, l);
      for (const auto& [x, y] : e.swaps) swap(x, y);
    }
  }

 private:
  struct Arg {  // an absent one has no elements
    std::int64_t elements = 0;
    DType dtype = DType::kF32;
  };

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
    check(b.dtype != DType::kF16 || (b.role == BufferRole::kActivation && b.pack < 0), "a place for f16");
    if (b.role == BufferRole::kActivation && b.pack < 0)
      check(b.arena_offset >= 0 && b.arena_offset <= kLargest, "arena offset");
    if (b.pack == -1) return;
    check(b.role == BufferRole::kParameter || b.role == BufferRole::kState || b.role == BufferRole::kActivation, "packed role");
    check(b.pack >= 0 && b.pack < static_cast<int>(program_.packs.size()) && b.pack_offset >= 0, "pack");
    check(b.pack_offset + n <= program_.packs[static_cast<std::size_t>(b.pack)], "pack offset");
  }

  // Each alone in its allocation, and of one size, so that either serves for both.
  void swap(int x, int y) const {
    const int count = static_cast<int>(program_.buffers.size());
    check(x >= 0 && x < count && y >= 0 && y < count && x != y, "swap");
    for (const int i : {x, y}) {
      const Buffer& b = program_.buffers[static_cast<std::size_t>(i)];
      check(b.role != BufferRole::kActivation || b.pack >= 0, "swap");
      for (const Buffer& other : program_.buffers) check(&other == &b || b.pack < 0 || other.pack != b.pack, "swap");
    }
    auto size = [&](int i) { return num_elements(program_.buffers[static_cast<std::size_t>(i)].dims); };
    check(size(x) == size(y), "swap");
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
    check(elements == kAnything || (first >= 0 && last < elements), "access");
  }

  void body(const Body& b, const std::vector<Arg>& args, const Dims& store_space) const {
    product(b.space);
    for (const Load& l : b.loads) access(l.at, b.space, arg(l.arg, args, l.ids ? DType::kI32 : DType::kF32));
    for (std::size_t i = 0; i < b.code.size(); ++i) {
      const Instr& in = b.code[i];
      const int before = static_cast<int>(i), arity = in.kind == InstrKind::kScalar ? scalar_info(in.scalar).arity : 0;
      auto operand = [&](int x, int number) { check(number < arity ? x >= 0 && x < before : x == -1, "operand"); };
      operand(in.a, 0);
      operand(in.b, 1);
      operand(in.c, 2);
      switch (in.kind) {
        case InstrKind::kLoad: check(in.index >= 0 && in.index < static_cast<int>(b.loads.size()), "load"); break;
        case InstrKind::kConst:
        case InstrKind::kScalar: break;
        case InstrKind::kUniform:
          check(in.index >= 0 && in.index < static_cast<int>(program_.uniforms.size()), "uniform");
          break;
        case InstrKind::kIndex:
        case InstrKind::kRandom:
          check(in.affine.coef.size() == b.space.size(), "index");
          access({in.affine.coef, in.affine.offset, {}}, b.space, kAnything);
          break;
      }
    }
    for (const Store& s : b.stores) {
      check(s.value >= 0 && s.value < static_cast<int>(b.code.size()) && s.at.ranges.empty(), "store");
      access(s.at, store_space, arg(s.arg, args, DType::kF32));
    }
  }

  std::int64_t arg(int index, const std::vector<Arg>& args, DType dtype) const {
    check(index >= 0 && index < static_cast<int>(args.size()), "argument");
    const Arg& a = args[static_cast<std::size_t>(index)];
    check(a.elements > 0 && a.dtype == dtype, "argument");
    return a.elements;
  }

  void contract(const Kernel& k, const std::vector<Arg>& args) const {
    const Contract& c = k.contract;
    check(product({c.batch, c.m, c.n}) <= arg(2, args, DType::kF32), "product");
    check(c.k >= 1 && c.k <= kLargest, "depth");
    access({{c.a_batch, c.a_m, c.a_k}, c.a_offset, {}}, {c.batch, c.m, c.k}, arg(0, args, DType::kF32));
    access({{c.b_batch, c.b_k, c.b_n}, c.b_offset, {}}, {c.batch, c.k, c.n}, arg(1, args, DType::kF32));
    auto unit = [](std::int64_t rows, std::int64_t row, std::int64_t cols, std::int64_t col) {
      return row == 1 || col == 1 || rows == 1 || cols == 1;
    };
    check(unit(c.m, c.a_m, c.k, c.a_k) && unit(c.k, c.b_k, c.n, c.b_n), "operand strides");
    if (k.body.code.empty()) return;
    check(!k.body.space.empty() && k.body.space.back() == c.n && product(k.body.space) == c.batch * c.m * c.n, "epilogue");
    body(k.body, args, k.body.space);
  }

  void launch(const Entry& entry, const Launch& l) {
    where_ = str("entry '", entry.name, "', launch '", l.label, "'");
    check(l.kernel >= 0 && l.kernel < static_cast<int>(program_.kernels.size()), "kernel");
    const Kernel& k = program_.kernels[static_cast<std::size_t>(l.kernel)];
    std::vector<Arg> args;
    for (int a : l.args) {
      check(a >= -1 && a < static_cast<int>(program_.buffers.size()), "buffer");
      args.emplace_back();
      if (a < 0) continue;
      const Buffer& b = program_.buffers[static_cast<std::size_t>(a)];
      args.back() = {num_elements(b.dims), b.dtype};
      if (b.role == BufferRole::kActivation && b.pack < 0)
        check(b.arena_offset + storage_words(b.dtype, args.back().elements) <= entry.arena_elements, "activation");
      check(b.dtype != DType::kF16 || k.kind == KernelKind::kShader, "argument type");
    }
    switch (k.kind) {
      case KernelKind::kMap: body(k.body, args, k.body.space); break;
      case KernelKind::kReduce: {
        const std::size_t rank = k.body.space.size(), tail = k.keep_last ? 1 : 0;
        check(k.reduced >= 1 && static_cast<std::size_t>(k.reduced) + tail <= rank && k.body.stores.size() == 1, "reduction");
        Dims kept(k.body.space.begin(), k.body.space.end() - k.reduced - static_cast<std::ptrdiff_t>(tail));
        if (tail) kept.push_back(k.body.space.back());
        body(k.body, args, kept);
        break;
      }
      case KernelKind::kContract: contract(k, args); break;
      case KernelKind::kGather:
      case KernelKind::kSegmentSum:
      case KernelKind::kComposite: whole_args(k, args); break;
      case KernelKind::kShader: k.shader.fragment ? fragment(k.shader, l) : shader(entry, k.shader, l); break;
    }
    where_.clear();
  }

  // What a buffer lies in, and where: {allocation, first element, its size}. Equal allocations have equal numbers.
  struct Place {
    int allocation = 0;
    std::int64_t first = 0, size = 0;
  };
  Place place(const Entry& entry, int buffer) const {
    const Buffer& b = program_.buffers[static_cast<std::size_t>(buffer)];
    if (b.role == BufferRole::kActivation && b.pack < 0) return {-1, b.arena_offset, entry.arena_elements};
    if (b.pack >= 0) return {-2 - b.pack, b.pack_offset, program_.packs[static_cast<std::size_t>(b.pack)]};
    return {buffer, 0, num_elements(b.dims)};
  }

  // Ranges lie in their allocations, and what is written is bound once: a GPU refuses two bindings of one place, and a buffer
  // bound both for reading only and for writing.
  void shader(const Entry& entry, const Shader& s, const Launch& l) const {
    check(!s.text.empty() && s.args.size() == l.args.size(), "shader");
    for (std::uint32_t n : l.grid) check(n >= 1 && n <= 65535, "grid");
    for (std::size_t i = 0; i < s.args.size(); ++i) {
      check(l.args[i] >= 0 && s.args[i].elements >= 1, "argument");
      const Place a = place(entry, l.args[i]);
      check(a.first + s.args[i].elements <= a.size, "argument size");
      for (std::size_t j = 0; j < i; ++j) {
        const Place b = place(entry, l.args[j]);
        if (a.allocation != b.allocation || (!s.args[i].written && !s.args[j].written)) continue;
        check(s.args[i].written && s.args[j].written, "read and written argument");
        check(a.first + s.args[i].elements <= b.first || b.first + s.args[j].elements <= a.first, "argument overlap");
      }
    }
  }

  // Draws inside of all outputs, none of which it reads. Outputs are textures of one shape.
  void fragment(const Shader& s, const Launch& l) const {
    check(!s.text.empty() && s.args.size() == l.args.size(), "shader");
    std::optional<TextureShape> drawn;
    std::set<int> read, written;
    for (std::size_t i = 0; i < s.args.size(); ++i) {
      check(l.args[i] >= 0 && s.args[i].elements >= 1 && s.args[i].elements <= kLargest, "argument");
      const Buffer& b = program_.buffers[static_cast<std::size_t>(l.args[i])];
      check(num_elements(b.dims) == s.args[i].elements && b.pack_offset == 0, "argument size");
      check(b.role != BufferRole::kActivation || b.pack >= 0, "argument");
      const TextureShape shape = texture_shape(s.args[i].elements);
      check(b.pack < 0 || texture_shape(program_.packs[static_cast<std::size_t>(b.pack)]) == shape, "texture");
      const int allocation = b.pack >= 0 ? -1 - b.pack : l.args[i];
      if (!s.args[i].written) {
        read.insert(allocation);
        continue;
      }
      check(written.insert(allocation).second, "argument overlap");
      check(!drawn || *drawn == shape, "outputs");
      drawn = shape;
      check(l.grid[0] == static_cast<std::uint32_t>(shape.width) && l.first_row >= 0 && l.grid[1] >= 1 &&
                l.first_row + static_cast<std::int64_t>(l.grid[1]) <= shape.height,
            "grid");
    }
    check(drawn.has_value(), "argument");
    for (const int allocation : written) check(read.count(allocation) == 0, "read and written argument");
  }

  // Kernels that take dense arguments: the shapes must be the buffers', and fit each other as the graph's rules have it.
  void whole_args(const Kernel& k, const std::vector<Arg>& args) const {
    check(k.arg_dims.size() == args.size() && !args.empty(), "argument count");
    for (std::size_t i = 0; i < args.size(); ++i) {
      const std::int64_t n = product(k.arg_dims[i]);
      if (args[i].elements == 0 && may_be_absent(k, i)) continue;
      check(args[i].elements == n, "argument size");
      check((args[i].dtype == DType::kI32) == holds_ids(k, i), "argument type");
    }
    check(composite_shapes_fit(k), "argument shapes");
  }

  // Initial states that are zero, and their gradients when nobody asks.
  static bool may_be_absent(const Kernel& k, std::size_t i) {
    if (k.kind != KernelKind::kComposite) return false;
    if (k.composite == Composite::kLstm) return i == 2 || i == 3 || (k.grad && (i == 10 || i == 11));
    return k.composite == Composite::kGru && (i == 3 || (k.grad && i == 11));
  }
  static bool holds_ids(const Kernel& k, std::size_t i) {
    if (k.kind == KernelKind::kGather) return i == 1;
    if (k.kind == KernelKind::kSegmentSum) return i == 0;
    return k.composite == Composite::kCrossEntropy && i == 1;
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
    case Composite::kSumSquares: return !k.grad && d.size() >= 2 && d.back().empty();
    case Composite::kSgd:
    case Composite::kAdam: {
      const std::size_t each = k.composite == Composite::kSgd ? 3 : 4;
      if (k.grad || (d.size() - 1) % each != 0 || (d.size() - 1) / each != k.weight_decay.size() || !d[0].empty()) return false;
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
