// Access: random chains of views, flattened to strides and ranges, read the elements that the oracle reads.
#include "kernel/access.h"

#include <gtest/gtest.h>

#include "graph/build.h"
#include "graph/evaluate.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

class Random {
 public:
  explicit Random(std::uint32_t stream) : stream_(stream) {}
  std::int64_t below(std::int64_t n) { return philox_u32(7, stream_, at_++) % static_cast<std::uint32_t>(n); }

 private:
  std::uint32_t stream_;
  std::uint64_t at_ = 0;
};

// One random view of x; the result is small enough to go on with.
Tensor random_view(Tensor x, Random& random) {
  const std::int64_t rank = x.rank();
  const std::int64_t n = num_elements(x.dims());
  const auto axis = rank ? static_cast<int>(random.below(rank)) : 0;
  switch (random.below(rank ? 6 : 1)) {
    case 0: {  // reshape: factors of n in random order
      Dims dims;
      std::int64_t left = n;
      while (left > 1) {
        std::int64_t d = 2 + random.below(left - 1);
        while (left % d) ++d;
        dims.push_back(d);
        left /= d;
      }
      if (random.below(3) == 0) dims.insert(dims.begin() + random.below(static_cast<std::int64_t>(dims.size()) + 1), 1);
      return reshape(x, dims);
    }
    case 1: {
      Dims axes;
      for (std::int64_t i = 0; i < rank; ++i) axes.insert(axes.begin() + random.below(i + 1), i);
      return permute(x, axes);
    }
    case 2: {
      Dims dims = x.dims();
      if (n < 60 && random.below(2)) dims.insert(dims.begin(), 1 + random.below(3));
      for (std::int64_t& d : dims)
        if (d == 1 && n < 60) d = 1 + random.below(3);
      return expand(x, dims);
    }
    case 3: {
      const std::int64_t size = x.dim(axis), start = random.below(size), last = random.below(size);
      const std::int64_t step = (start <= last ? 1 : -1) * (1 + random.below(2));
      return slice(x, axis, start, last + (step > 0 ? 1 : -1), step);
    }
    default: return n < 200 ? pad(x, axis, random.below(3), random.below(3)) : x;
  }
}

// From a value back to `x`, by the access rules: nothing when some step needs storing between.
std::optional<Access> access_to(const Graph& g, Value from, Value x) {
  Access access = Access::identity(g.dims(from));
  while (!(from == x)) {
    const Node& node = g.node(from);
    const Dims& in = g.dims(node.inputs[0]);
    switch (node.op) {
      case Op::kPermute: access = access.permute(node.axes); break;
      case Op::kExpand: access = access.expand(in); break;
      case Op::kSlice: access = access.slice(node.starts, node.steps); break;
      case Op::kPad: access = access.pad(node.starts, in); break;
      default: {
        const std::optional<Access> next = access.reshape(node.outputs[0].dims, in);
        if (!next) return std::nullopt;
        access = *next;
      }
    }
    from = node.inputs[0];
  }
  return access;
}

std::vector<double> read(const FlatAccess& flat, const Dims& space, const std::vector<double>& buffer) {
  for (const DimRange& r : flat.ranges)
    EXPECT_TRUE(0 <= r.low && r.low <= r.high && r.high <= space[static_cast<std::size_t>(r.dim)]);
  std::vector<double> out;
  Dims index(space.size(), 0);
  for (std::int64_t i = 0; i < num_elements(space); ++i) {
    bool inside = true;
    for (const DimRange& r : flat.ranges) {
      const std::int64_t at = index[static_cast<std::size_t>(r.dim)];
      inside = inside && at >= r.low && at < r.high;
    }
    std::int64_t at = flat.offset;
    for (std::size_t d = 0; d < index.size(); ++d) at += flat.strides[d] * index[d];
    out.push_back(inside ? buffer.at(static_cast<std::size_t>(at)) : 0.0);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < space[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

TEST(Access, RandomChainsReadWhatTheOracleReads) {
  int flattened = 0, stored = 0;
  for (std::uint32_t trial = 0; trial < 3000; ++trial) {
    Random random(trial);
    Graph g;
    Dims dims;
    for (std::int64_t i = random.below(4); i-- > 0;) dims.push_back(1 + random.below(4));
    const Tensor x = input(g, "x", dims);
    Tensor y = x;
    for (std::int64_t i = 1 + random.below(5); i-- > 0;) y = random_view(y, random);
    EvaluateInputs in;
    std::vector<double>& values = in.values["x"];
    for (std::int64_t i = 0; i < num_elements(dims); ++i) values.push_back(static_cast<double>(i + 1));  // 0 means padding
    g.outputs = {{"y", y.value}};
    const std::vector<double> want = evaluate(g, in).outputs.at("y");
    const std::optional<Access> access = access_to(g, y.value, x.value);
    const std::optional<FlatAccess> flat = access ? flatten(*access, dims) : std::nullopt;
    if (!flat) {
      ++stored;
      continue;
    }
    ++flattened;
    ASSERT_EQ(read(*flat, y.dims(), values), want) << "trial " << trial;
    if (is_dense(*flat, y.dims())) {
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(want[i], values.at(i + static_cast<std::size_t>(flat->offset))) << "trial " << trial;
    }
  }
  EXPECT_GT(flattened, 1500);
  EXPECT_GT(stored, 100);
}

TEST(Access, ReshapeNeedsStoringOnlyWhereNoStridesCan) {
  const Access transposed = Access::identity({3, 4}).permute({1, 0});  // space (3,4), tensor (4,3)
  EXPECT_FALSE(Access::identity({12}).reshape({12}, {3, 4}).has_value());  // a division: stored between
  EXPECT_TRUE(Access::identity({3, 4}).reshape({3, 4}, {12}).has_value());
  EXPECT_TRUE(Access::identity({2, 2, 3}).reshape({2, 2, 3}, {4, 3}).has_value());
  EXPECT_TRUE(transposed.reshape({4, 3}, {2, 2, 3}).has_value() == false);
  EXPECT_TRUE(Access::identity({3, 4}).reshape({3, 4}, {1, 3, 1, 4}).has_value());
}

TEST(Access, ARunOfRowsIsDenseATransposeIsNot) {
  auto dense = [](const Access& a, const Dims& dims) { return is_dense(*flatten(a, dims), a.space); };
  EXPECT_TRUE(dense(Access::identity({3, 4}), {3, 4}));
  EXPECT_TRUE(dense(Access::identity({2, 4}).slice({1, 0}, {1, 1}), {3, 4}));
  EXPECT_FALSE(dense(Access::identity({3, 2}).slice({0, 1}, {1, 1}), {3, 4}));
  EXPECT_FALSE(dense(Access::identity({4, 3}).permute({1, 0}), {3, 4}));
  EXPECT_FALSE(dense(Access::identity({3, 4}).slice({2, 0}, {-1, 1}), {3, 4}));
  EXPECT_TRUE(dense(Access::identity({1, 3}).permute({1, 0}), {3, 1}));
}

}  // namespace
}  // namespace tabgrad
