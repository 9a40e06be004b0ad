// Programs from strangers: any bytes, or a valid Program with fields overwritten, give an Error or a Program that runs within its
// memory (the sanitizers watch). The second is what finds holes: few random bytes are a FlatBuffer at all.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/cpu_backend.h"
#include "engine/engine.h"
#include "graph/autodiff.h"
#include "graph/compose/compose.h"

namespace tabgrad {
namespace {

constexpr std::int64_t kSmall = 1 << 16;  // elements and steps a run may take, so that no input is slow

// The fuzzer's bytes as a stream of choices; zeros when it is used up.
struct Choices {
  const std::uint8_t* data;
  std::size_t size;
  std::uint8_t byte() { return size ? (--size, *data++) : std::uint8_t{0}; }
  std::size_t below(std::size_t n) { return (static_cast<std::size_t>(byte()) << 8 | byte()) % n; }
  std::int64_t number(std::int64_t old) {
    switch (byte() % 8) {
      case 0: return old + 1;
      case 1: return old - 1;
      case 2: return -old;
      case 3: return old * 2;
      case 4: return 0;
      case 5: return static_cast<std::int8_t>(byte());
      case 6: return std::int64_t{1} << (byte() % 63);
      default: return -(std::int64_t{1} << (byte() % 63));
    }
  }
};

// A train step that uses every kind of kernel, once claimed and once decomposed.
Program sample(bool claim) {
  Graph g;
  const Tensor ids = input(g, "ids", {1, 3}, Role::kInput, DType::kI32);
  const Tensor next = input(g, "next", {1, 3}, Role::kInput, DType::kI32);
  auto parameter = [&](const char* name, Dims dims) { return input(g, name, std::move(dims), Role::kParameter); };
  const std::vector<Tensor> p{parameter("table", {7, 6}), parameter("gamma", {6}),  parameter("qkv", {6, 18}),
                              parameter("wx", {6, 12}),   parameter("wh", {3, 12}), parameter("gx", {3, 9}),
                              parameter("gh", {3, 9}),    parameter("gb", {9}),     parameter("head", {3, 7}),
                              parameter("beta", {6})};
  Tensor x = gather(p[0], ids);
  x = x + attention(matmul(rms_norm(dropout(x, 0.1, 1), p[1]), p[2]), {.heads = 2, .kv_heads = 2});
  x = softmax(layer_norm(gelu(x), p[1], p[9]));
  x = lstm_sequence(matmul(permute(x, {1, 0, 2}), p[3]), p[4]);
  x = gru_sequence(matmul(pad(slice(x, 0, 1, 3), 0, 1, 0), p[5]), p[6], p[7], true);
  const Tensor loss = mean(cross_entropy(matmul(permute(x, {1, 0, 2}), p[8]), next), {0, 1});
  const std::vector<Tensor> grads = gradients(loss, p);
  const Tensor scale = constant(g, 1.0) / (sqrt(sum_squares(grads)) + 1.0);
  for (std::size_t i = 0; i < p.size(); ++i) optimizer_update(p[i], grads[i], scale, {}, 0.1);
  g.outputs = {{"loss", loss.value}, {"top", max(x, {0, 2}).value}};
  return compile({{"step", g}}, device_caps({.claim = claim}), "cpu");
}

void change_dims(Dims& dims, Choices& c) {
  if (dims.empty() || c.byte() % 8 == 0) {
    dims.push_back(c.number(1));
  } else if (c.byte() % 8 == 0) {
    dims.pop_back();
  } else {
    std::int64_t& d = dims[c.below(dims.size())];
    d = c.number(d);
  }
}
void change_int(int& value, Choices& c) { value = static_cast<int>(c.number(value)); }

void change_access(FlatAccess& at, Choices& c) {
  switch (c.byte() % 4) {
    case 0: change_dims(at.strides, c); break;
    case 1: at.offset = c.number(at.offset); break;
    case 2: at.ranges.push_back({static_cast<int>(c.number(0)), c.number(0), c.number(4)}); break;
    default: at.ranges.clear();
  }
}

void change_kernel(Kernel& k, Choices& c) {
  Body& b = k.body;
  switch (c.byte() % 12) {
    case 0: change_dims(b.space, c); break;
    case 1:
      if (!b.loads.empty()) change_access(b.loads[c.below(b.loads.size())].at, c);
      break;
    case 2:
      if (!b.stores.empty()) change_access(b.stores[c.below(b.stores.size())].at, c);
      break;
    case 3:
      if (!b.loads.empty()) change_int(b.loads[c.below(b.loads.size())].arg, c);
      break;
    case 4:
      if (!b.stores.empty()) change_int(b.stores[c.below(b.stores.size())].value, c);
      break;
    case 5:
    case 6: {
      if (b.code.empty()) break;
      Instr& in = b.code[c.below(b.code.size())];
      int* fields[] = {&in.a, &in.b, &in.c, &in.index};
      if (c.byte() % 2) {
        change_int(*fields[c.byte() % 4], c);
      } else if (c.byte() % 2) {
        in.kind = static_cast<InstrKind>(c.byte() % 6);
      } else {
        in.scalar = static_cast<ScalarOp>(c.byte() % kScalarOpCount);
      }
      break;
    }
    case 7: {
      Contract& t = k.contract;
      std::int64_t* fields[] = {&t.batch, &t.m,   &t.n,        &t.k,       &t.a_offset, &t.a_batch,
                                &t.a_m,   &t.a_k, &t.b_offset, &t.b_batch, &t.b_k,      &t.b_n};
      std::int64_t& field = *fields[c.below(12)];
      field = c.number(field);
      break;
    }
    case 8:
      if (!k.arg_dims.empty()) change_dims(k.arg_dims[c.below(k.arg_dims.size())], c);
      break;
    case 9: change_int(k.reduced, c), k.keep_last = c.byte() % 2; break;
    case 10:
      k.kind = static_cast<KernelKind>(c.byte() % 6), k.composite = static_cast<Composite>(c.byte() % kCompositeCount);
      break;
    default:
      k.grad = c.byte() % 2, k.attrs.heads = static_cast<int>(c.number(2)), k.attrs.kv_heads = static_cast<int>(c.number(2));
  }
}

void change(Program& p, Choices& c) {
  Entry& e = p.entries[0];
  Launch& l = e.launches[c.below(e.launches.size())];
  Buffer& b = p.buffers[c.below(p.buffers.size())];
  switch (c.byte() % 8) {
    case 0:
      if (!l.args.empty()) change_int(l.args[c.below(l.args.size())], c);
      break;
    case 1: change_int(l.kernel, c); break;
    case 2: change_dims(b.dims, c); break;
    case 3: b.arena_offset = c.number(b.arena_offset); break;
    case 4: e.arena_elements = c.number(e.arena_elements); break;
    default: change_kernel(p.kernels[c.below(p.kernels.size())], c);
  }
}

// Work and memory within what a fuzzer's run may take.
bool small(const Program& p) {
  for (const Buffer& b : p.buffers)
    if (num_elements(b.dims) > kSmall) return false;
  for (const Entry& e : p.entries) {
    if (e.arena_elements > kSmall) return false;
    for (const Launch& l : e.launches) {
      const Kernel& k = p.kernels[static_cast<std::size_t>(l.kernel)];
      const Contract& t = k.contract;
      const bool product = k.kind == KernelKind::kContract;
      if (product && (t.k > kSmall || t.batch * t.m * t.n > kSmall || t.batch * t.m * t.n * t.k > kSmall)) return false;
      if (num_elements(k.body.space) > kSmall) return false;
    }
  }
  return true;
}

void run(const std::uint8_t* bytes, std::size_t size) {
  static ThreadPool pool(1);
  try {
    Program program = parse_program(bytes, size, "fuzz");
    if (!small(program)) return;
    const std::vector<Entry> entries = program.entries;
    const std::unique_ptr<Backend> backend = make_cpu_backend(std::move(program), pool);
    for (const Entry& e : entries) backend->run(e.name);
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace tabgrad

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tabgrad;
  static const Program samples[] = {sample(true), sample(false)};
  Choices c{data, size};
  const std::uint8_t way = c.byte();
  if (way % 8 == 0) {
    run(c.data, c.size);
    return 0;
  }
  Program p = samples[way % 2];
  for (int i = 0; i < 1 + way % 3; ++i) change(p, c);
  const std::vector<std::uint8_t> bytes = serialize(p);
  run(bytes.data(), bytes.size());
  return 0;
}
