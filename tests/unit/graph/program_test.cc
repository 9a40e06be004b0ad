// Programs: bytes and back, and the refusal of every kind of damage.
#include "program/program.h"

#include <gtest/gtest.h>

#include <functional>

#include "tensor/philox.h"

namespace tabgrad {
namespace {

Instr instr(InstrKind kind, int index = -1, Affine affine = {}) {
  return {kind, ScalarOp::kAdd, -1, -1, -1, index, 0.5f, affine};
}
Instr load(int index) { return instr(InstrKind::kLoad, index); }
Instr scalar(ScalarOp op, int a, int b = -1) { return {InstrKind::kScalar, op, a, b, -1, -1, 0, {}}; }
Buffer buffer(const char* name, BufferRole role, Dims dims, DType dtype = DType::kF32, std::int64_t at = -1) {
  return {name, role, dtype, std::move(dims), at, {}};
}

// One kernel of each kind over: 0 x (4,6) input, 1 p (6,5) parameter, 2 c (6) constant, 3 y (4,5) output, 4 and 5 activations,
// 6 ids (4) input, 7 a scalar, 8 the optimizer's v (6,5), 9 a segment sum's (6,6).
Program sample() {
  Program p;
  p.target = "cpu";
  p.uniforms = {"lr", "bias"};
  p.buffers = {buffer("x", BufferRole::kInput, {4, 6}),
               buffer("p", BufferRole::kParameter, {6, 5}),
               buffer("c", BufferRole::kConstant, {6}),
               buffer("y", BufferRole::kOutput, {4, 5}),
               buffer("", BufferRole::kActivation, {4, 6}, DType::kF32, 0),
               buffer("", BufferRole::kActivation, {6}, DType::kF32, 24),
               buffer("ids", BufferRole::kInput, {4}, DType::kI32),
               buffer("s", BufferRole::kOutput, {}),
               buffer("p.v", BufferRole::kState, {6, 5}),
               buffer("rows", BufferRole::kOutput, {6, 6})};
  p.buffers[2].data.assign(24, 1);
  Kernel map;  // a = tanh(x shifted by a row) + c·lr + index + random
  map.body.space = {4, 6};
  map.body.loads = {{0, {{6, 1}, -6, {{0, 1, 4}}}}, {1, {{0, 1}, 0, {}}}};
  map.body.code = {load(0),
                   scalar(ScalarOp::kTanh, 0),
                   load(1),
                   instr(InstrKind::kUniform, 0),
                   scalar(ScalarOp::kMul, 2, 3),
                   scalar(ScalarOp::kAdd, 1, 4),
                   instr(InstrKind::kIndex, -1, {{6, 1}, 0}),
                   scalar(ScalarOp::kAdd, 5, 6),
                   instr(InstrKind::kRandom, 3, {{6, 1}, 0}),
                   scalar(ScalarOp::kAdd, 7, 8),
                   instr(InstrKind::kConst),
                   scalar(ScalarOp::kMul, 9, 10)};
  map.body.stores = {{2, 11, {{6, 1}, 0, {}}}};
  Kernel reduce;  // column sums of a
  reduce.kind = KernelKind::kReduce;
  reduce.body.space = {6, 4};
  reduce.body.loads = {{0, {{1, 6}, 0, {}}}};
  reduce.body.code = {load(0)};
  reduce.body.stores = {{1, 0, {{1}, 0, {}}}};
  reduce.reduced = 1;
  Kernel contract;  // y = relu(a·p)
  contract.kind = KernelKind::kContract;
  contract.contract = {.m = 4, .n = 5, .k = 6, .a_m = 6, .a_k = 1, .b_k = 5, .b_n = 1};
  contract.body.space = {4, 5};
  contract.body.loads = {{2, {{5, 1}, 0, {}}}};
  contract.body.code = {load(0), instr(InstrKind::kConst), scalar(ScalarOp::kMax, 0, 1)};
  contract.body.stores = {{2, 2, {{5, 1}, 0, {}}}};
  Kernel gather;
  gather.kind = KernelKind::kGather;
  gather.arg_dims = {{6, 6}, {4}, {4, 6}};
  Kernel segment;
  segment.kind = KernelKind::kSegmentSum;
  segment.arg_dims = {{4}, {4, 6}, {6, 6}};
  Kernel softmax;
  softmax.kind = KernelKind::kComposite;
  softmax.arg_dims = {{4, 6}, {4, 6}};
  Kernel sgd;
  sgd.kind = KernelKind::kComposite;
  sgd.composite = Composite::kSgd;
  sgd.attrs.momentum = 0.5f;
  sgd.arg_dims = {{}, {6, 5}, {6, 5}, {6, 5}};
  sgd.weight_decay = {0.1f};
  p.kernels = {map, reduce, contract, gather, segment, softmax, sgd};
  p.entries = {{"train",
                {{0, {0, 2, 4}, "map"},
                 {1, {4, 5}, "reduce"},
                 {2, {4, 1, 3}, "contract", 240, 400},
                 {4, {6, 4, 9}, "segment"},
                 {3, {9, 6, 4}, "gather"},
                 {5, {0, 4}, "softmax"},
                 {6, {7, 1, 1, 8}, "sgd"}},
                30},
               {"empty", {}, 0}};
  return p;
}

bool operator==(const Buffer& a, const Buffer& b) {
  return a.name == b.name && a.role == b.role && a.dtype == b.dtype && a.dims == b.dims && a.arena_offset == b.arena_offset &&
         a.data == b.data;
}

void expect_equal(const Program& a, const Program& b) {
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.subgroups, b.subgroups);
  EXPECT_EQ(a.f16, b.f16);
  EXPECT_EQ(a.uniforms, b.uniforms);
  ASSERT_EQ(a.buffers.size(), b.buffers.size());
  for (std::size_t i = 0; i < a.buffers.size(); ++i) EXPECT_TRUE(a.buffers[i] == b.buffers[i]) << "buffer " << i;
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (std::size_t i = 0; i < a.kernels.size(); ++i) EXPECT_TRUE(a.kernels[i] == b.kernels[i]) << "kernel " << i;
  ASSERT_EQ(a.entries.size(), b.entries.size());
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    EXPECT_EQ(a.entries[i].name, b.entries[i].name);
    EXPECT_EQ(a.entries[i].arena_elements, b.entries[i].arena_elements);
    ASSERT_EQ(a.entries[i].launches.size(), b.entries[i].launches.size());
    for (std::size_t j = 0; j < a.entries[i].launches.size(); ++j) {
      const Launch &x = a.entries[i].launches[j], &y = b.entries[i].launches[j];
      EXPECT_TRUE(x.kernel == y.kernel && x.args == y.args && x.label == y.label && x.flops == y.flops && x.bytes == y.bytes);
    }
  }
}

Program reread(const Program& p) {
  const std::vector<std::uint8_t> bytes = serialize(p);
  return parse_program(bytes.data(), bytes.size(), "file");
}

TEST(Program, BytesAndBack) {
  expect_equal(sample(), reread(sample()));
  expect_equal(Program{}, reread(Program{}));
}

TEST(Program, EveryAttributeSurvives) {
  Program p = sample();
  CompositeAttrs& a = p.kernels[5].attrs;
  a = {.heads = 1,
       .kv_heads = 2,
       .causal = true,
       .scale = 3,
       .eps = 4,
       .reset_after = false,
       .beta1 = 5,
       .beta2 = 6,
       .momentum = 7,
       .weight_decay = 8,
       .nesterov = true,
       .decoupled_decay = true};
  p.subgroups = 32;
  p.f16 = true;
  expect_equal(p, reread(p));
}

using Damage = std::function<void(Program&)>;
constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(Program, DamageIsRefused) {
  const std::vector<std::pair<const char*, Damage>> rows{
      {"size 0", [](Program& p) { p.buffers[0].dims[0] = 0; }},
      {"negative size", [](Program& p) { p.buffers[0].dims[0] = -4; }},
      {"sizes that overflow", [](Program& p) { p.buffers[3].dims = {kHuge, kHuge, 16}; }},
      {"constant data too short", [](Program& p) { p.buffers[2].data.pop_back(); }},
      {"activation outside of the arena", [](Program& p) { p.buffers[5].arena_offset = 25; }},
      {"negative arena offset", [](Program& p) { p.buffers[5].arena_offset = -1; }},
      {"arena too small", [](Program& p) { p.entries[0].arena_elements = 29; }},
      {"arena huge", [](Program& p) { p.entries[0].arena_elements = kHuge; }},
      {"kernel index", [](Program& p) { p.entries[0].launches[0].kernel = 7; }},
      {"f16 that a CPU kernel reads", [](Program& p) { p.buffers[5].dtype = DType::kF16; }},
      {"f16 outside of the arena", [](Program& p) { p.buffers[0].dtype = DType::kF16; }},
      {"subgroups larger than any", [](Program& p) { p.subgroups = 256; }},
      {"negative kernel index", [](Program& p) { p.entries[0].launches[0].kernel = -1; }},
      {"buffer index", [](Program& p) { p.entries[0].launches[0].args[0] = 10; }},
      {"negative buffer index", [](Program& p) { p.entries[0].launches[0].args[0] = -2; }},
      {"missing argument", [](Program& p) { p.entries[0].launches[0].args.pop_back(); }},
      {"argument absent where it is read", [](Program& p) { p.entries[0].launches[0].args[0] = -1; }},
      {"load before the buffer", [](Program& p) { p.kernels[0].body.loads[0].at.ranges.clear(); }},
      {"load behind the buffer", [](Program& p) { p.kernels[0].body.loads[0].at.offset = 1; }},
      {"load of a stride too many", [](Program& p) { p.kernels[0].body.loads[0].at.strides.push_back(1); }},
      {"stride that overflows", [](Program& p) { p.kernels[0].body.loads[1].at.strides[0] = kHuge; }},
      {"range of an axis that is not", [](Program& p) { p.kernels[0].body.loads[0].at.ranges[0].dim = 2; }},
      {"range past the axis", [](Program& p) { p.kernels[0].body.loads[0].at.ranges[0].high = 5; }},
      {"range from below", [](Program& p) { p.kernels[0].body.loads[0].at.ranges[0].low = -1; }},
      {"load that is not", [](Program& p) { p.kernels[0].body.code[0].index = 2; }},
      {"operand that comes later", [](Program& p) { p.kernels[0].body.code[1].a = 1; }},
      {"operand missing", [](Program& p) { p.kernels[0].body.code[4].b = -1; }},
      {"uniform that is not", [](Program& p) { p.kernels[0].body.code[3].index = 2; }},
      {"index of another rank", [](Program& p) { p.kernels[0].body.code[6].affine.coef.pop_back(); }},
      {"index that overflows", [](Program& p) { p.kernels[0].body.code[6].affine.coef[0] = kHuge; }},
      {"random element that overflows", [](Program& p) { p.kernels[0].body.code[8].affine.offset = -kHuge; }},
      {"store of nothing", [](Program& p) { p.kernels[0].body.stores[0].value = 12; }},
      {"store behind the buffer", [](Program& p) { p.kernels[0].body.stores[0].at.offset = 1; }},
      {"operand of an instruction that has none", [](Program& p) { p.kernels[0].body.code[1].b = 500; }},
      {"store of a part", [](Program& p) { p.kernels[0].body.stores[0].at.ranges = {{0, 0, 2}}; }},
      {"store into ids", [](Program& p) { p.buffers[3].dtype = DType::kI32; }},
      {"ids read as numbers", [](Program& p) { p.kernels[0].body.loads[0].ids = true; }},
      {"space of size 0", [](Program& p) { p.kernels[0].body.space[1] = 0; }},
      {"space larger than memory", [](Program& p) { p.kernels[0].body.space[1] = kHuge; }},
      {"reduction of more than there is", [](Program& p) { p.kernels[1].reduced = 3; }},
      {"reduction of nothing", [](Program& p) { p.kernels[1].reduced = 0; }},
      {"negative reduction", [](Program& p) { p.kernels[1].reduced = -1; }},
      {"reduction with no store", [](Program& p) { p.kernels[1].body.stores.clear(); }},
      {"product larger than its buffer", [](Program& p) { p.kernels[2].contract.m = 5; }},
      {"depth 0", [](Program& p) { p.kernels[2].contract.k = 0; }},
      {"depth past the operand", [](Program& p) { p.kernels[2].contract.k = 7; }},
      {"endless depth",
       [](Program& p) { p.kernels[2].contract.k = kHuge, p.kernels[2].contract.a_k = p.kernels[2].contract.b_k = 0; }},
      {"operand without a unit stride", [](Program& p) { p.kernels[2].contract.b_n = 0; }},
      {"epilogue over another space", [](Program& p) { p.kernels[2].body.space = {4, 4}; }},
      {"gather of another width", [](Program& p) { p.kernels[3].arg_dims[2] = {6, 4}; }},
      {"gather without ids", [](Program& p) { p.entries[0].launches[4].args[1] = -1; }},
      {"gather by numbers", [](Program& p) { p.buffers[6].dtype = DType::kF32; }},
      {"segment sum without rows", [](Program& p) { p.entries[0].launches[3].args[1] = -1; }},
      {"softmax of nothing", [](Program& p) { p.entries[0].launches[5].args = {-1, -1}; }},
      {"softmax into another shape", [](Program& p) { p.kernels[5].arg_dims[1] = {6, 4}; }},
      {"softmax of ids", [](Program& p) { p.buffers[0].dtype = DType::kI32; }},
      {"optimizer without decay", [](Program& p) { p.kernels[6].weight_decay.clear(); }},
      {"optimizer without a gradient", [](Program& p) { p.entries[0].launches[6].args[2] = -1; }},
      {"gradient of an optimizer", [](Program& p) { p.kernels[6].grad = true; }},
      {"two buffers of one name", [](Program& p) { p.buffers[1].name = "x"; }},
      {"two entries of one name", [](Program& p) { p.entries[1].name = "train"; }},
  };
  EXPECT_NO_THROW(validate(sample(), "file"));
  for (const auto& [what, damage] : rows) {
    Program p = sample();
    damage(p);
    try {
      reread(p);
      ADD_FAILURE() << what << " was accepted";
    } catch (const Error& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("file: ")) << e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << what << ": " << e.what();
    }
  }
}

// Any damage to the bytes gives a Program or an Error, never anything else.
TEST(Program, DamagedBytesNeverCrash) {
  const std::vector<std::uint8_t> good = serialize(sample());
  for (std::size_t size = 0; size < good.size(); size += 7)
    EXPECT_THROW(parse_program(good.data(), size, "file"), Error) << size;
  int refused = 0;
  for (std::uint32_t trial = 0; trial < 5000; ++trial) {
    std::vector<std::uint8_t> bytes = good;
    for (std::uint64_t i = 0; i < 1 + trial % 3; ++i)
      bytes[philox_u32(1, trial, 2 * i) % bytes.size()] = static_cast<std::uint8_t>(philox_u32(1, trial, 2 * i + 1));
    try {
      parse_program(bytes.data(), bytes.size(), "file");
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tabgrad
