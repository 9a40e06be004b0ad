// Program → FlatBuffers bytes → Program.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "program/program.h"
#include "program/program_generated.h"

namespace tabgrad {
namespace {

constexpr int kVersion = 1;
using Builder = flatbuffers::FlatBufferBuilder;

template <typename T, typename F>
auto write_all(Builder& b, const std::vector<T>& items, F&& write) {
  std::vector<decltype(write(items[0]))> offsets;
  for (const T& item : items) offsets.push_back(write(item));
  return b.CreateVector(offsets);
}

auto write(Builder& b, const Affine& a) { return fbs::CreateAffine(b, b.CreateVector(a.coef), a.offset); }

auto write(Builder& b, const FlatAccess& a) {
  const auto ranges = write_all(b, a.ranges, [&](const DimRange& r) { return fbs::CreateDimRange(b, r.dim, r.low, r.high); });
  return fbs::CreateFlatAccess(b, b.CreateVector(a.strides), a.offset, ranges);
}

auto write(Builder& b, const Instr& i) {
  const auto affine = i.affine.coef.empty() && i.affine.offset == 0 ? 0 : write(b, i.affine);
  return fbs::CreateInstr(b, static_cast<std::uint8_t>(i.kind), static_cast<std::uint8_t>(i.scalar), i.a, i.b, i.c, i.index,
                          i.value, affine);
}

auto write(Builder& b, const Body& body) {
  const auto loads = write_all(b, body.loads, [&](const Load& l) { return fbs::CreateLoad(b, l.arg, write(b, l.at), l.ids); });
  const auto code = write_all(b, body.code, [&](const Instr& i) { return write(b, i); });
  const auto stores =
      write_all(b, body.stores, [&](const Store& s) { return fbs::CreateStore(b, s.arg, s.value, write(b, s.at)); });
  return fbs::CreateBody(b, b.CreateVector(body.space), loads, code, stores);
}

auto write(Builder& b, const Kernel& k) {
  const auto body = write(b, k.body);
  const Contract& c = k.contract;
  const auto contract =
      fbs::CreateContract(b, c.batch, c.m, c.n, c.k, c.a_offset, c.a_batch, c.a_m, c.a_k, c.b_offset, c.b_batch, c.b_k, c.b_n);
  const CompositeAttrs& a = k.attrs;
  const auto attrs = fbs::CreateAttrs(b, a.heads, a.kv_heads, a.causal, a.scale, a.eps, a.reset_after, a.beta1, a.beta2,
                                      a.momentum, a.weight_decay, a.nesterov, a.decoupled_decay);
  const auto dims = write_all(b, k.arg_dims, [&](const Dims& d) { return fbs::CreateDims(b, b.CreateVector(d)); });
  const auto args =
      write_all(b, k.shader.args, [&](const ShaderArg& x) { return fbs::CreateShaderArg(b, x.written, x.elements); });
  flatbuffers::Offset<fbs::Shader> shader;
  if (k.kind == KernelKind::kShader)
    shader = fbs::CreateShader(b, b.CreateString(k.shader.name), b.CreateString(k.shader.text), args, k.shader.uniforms,
                               k.shader.fragment);
  return fbs::CreateKernel(b, static_cast<std::uint8_t>(k.kind), body, static_cast<std::uint8_t>(k.reduce), k.reduced,
                           k.keep_last, contract, k.store_product, static_cast<std::uint8_t>(k.composite), k.grad, attrs, dims,
                           b.CreateVector(k.weight_decay), shader);
}

// A missing vector reads as empty, a missing table as an error.
template <typename T>
const T& need(const T* table, const std::string& source) {
  if (!table) fail(source, ": damaged Program: a part is missing");
  return *table;
}
// Byte by byte: the verifier does not check the alignment of a vector's elements.
static_assert(std::endian::native == std::endian::little);
template <typename V>
auto to_vector(const V* v) {
  std::vector<typename V::value_type> out(v ? v->size() : 0);
  if (!out.empty()) std::memcpy(out.data(), v->Data(), out.size() * sizeof(out[0]));
  return out;
}
std::string to_text(const flatbuffers::String* s) { return s ? s->str() : std::string(); }

template <typename E>
E to_enum(std::uint8_t value, int count, const std::string& source) {
  if (value >= count) fail(source, ": damaged Program: unknown code ", static_cast<int>(value));
  return static_cast<E>(value);
}

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  Affine read(const fbs::Affine* a) const { return a ? Affine{to_vector(a->coef()), a->offset()} : Affine{}; }

  FlatAccess read(const fbs::FlatAccess* a) const {
    const auto& f = need(a, source_);
    FlatAccess out{to_vector(f.strides()), f.offset(), {}};
    if (f.ranges())
      for (const fbs::DimRange* r : *f.ranges()) out.ranges.push_back({r->dim(), r->low(), r->high()});
    return out;
  }

  Body read(const fbs::Body* b) const {
    const auto& f = need(b, source_);
    Body body;
    body.space = to_vector(f.space());
    if (f.loads())
      for (const fbs::Load* l : *f.loads()) body.loads.push_back({l->arg(), read(l->at()), l->ids()});
    if (f.code()) {
      for (const fbs::Instr* i : *f.code()) {
        body.code.push_back({to_enum<InstrKind>(i->kind(), static_cast<int>(InstrKind::kScalar) + 1, source_),
                             to_enum<ScalarOp>(i->scalar(), kScalarOpCount, source_), i->a(), i->b(), i->c(), i->index(),
                             i->value(), read(i->affine())});
      }
    }
    if (f.stores())
      for (const fbs::Store* s : *f.stores()) body.stores.push_back({s->arg(), s->value(), read(s->at())});
    return body;
  }

  Kernel read(const fbs::Kernel* k) const {
    const auto& f = need(k, source_);
    Kernel out;
    out.kind = to_enum<KernelKind>(f.kind(), static_cast<int>(KernelKind::kShader) + 1, source_);
    out.body = read(f.body());
    out.reduce = to_enum<ReduceOp>(f.reduce(), 2, source_);
    out.reduced = f.reduced();
    out.keep_last = f.keep_last();
    const auto& c = need(f.contract(), source_);
    out.contract = {c.batch(), c.m(),   c.n(),        c.k(),       c.a_offset(), c.a_batch(),
                    c.a_m(),   c.a_k(), c.b_offset(), c.b_batch(), c.b_k(),      c.b_n()};
    out.store_product = f.store_product();
    out.composite = to_enum<Composite>(f.composite(), kCompositeCount, source_);
    out.grad = f.grad();
    const auto& a = need(f.attrs(), source_);
    out.attrs = {a.heads(), a.kv_heads(), a.causal(),   a.scale(),        a.eps(),      a.reset_after(),
                 a.beta1(), a.beta2(),    a.momentum(), a.weight_decay(), a.nesterov(), a.decoupled_decay()};
    if (f.arg_dims())
      for (const fbs::Dims* d : *f.arg_dims()) out.arg_dims.push_back(to_vector(d->sizes()));
    out.weight_decay = to_vector(f.weight_decay());
    if (f.shader()) {
      out.shader = {
          to_text(f.shader()->name()), to_text(f.shader()->text()), {}, f.shader()->uniforms(), f.shader()->fragment()};
      if (f.shader()->args())
        for (const fbs::ShaderArg* x : *f.shader()->args()) out.shader.args.push_back({x->written(), x->elements()});
    }
    return out;
  }

 private:
  std::string source_;
};

}  // namespace

std::vector<std::uint8_t> serialize(const Program& program) {
  Builder b;
  const auto uniforms = write_all(b, program.uniforms, [&](const std::string& s) { return b.CreateString(s); });
  const auto buffers = write_all(b, program.buffers, [&](const Buffer& x) {
    return fbs::CreateBuffer(b, b.CreateString(x.name), static_cast<std::uint8_t>(x.role), static_cast<std::uint8_t>(x.dtype),
                             b.CreateVector(x.dims), x.arena_offset, b.CreateVector(x.data), x.pack, x.pack_offset);
  });
  const auto kernels = write_all(b, program.kernels, [&](const Kernel& k) { return write(b, k); });
  const auto entries = write_all(b, program.entries, [&](const Entry& e) {
    const auto launches = write_all(b, e.launches, [&](const Launch& l) {
      return fbs::CreateLaunch(b, l.kernel, b.CreateVector(l.args), b.CreateString(l.label), l.flops, l.bytes,
                               b.CreateVector(l.grid.data(), l.grid.size()), l.first_row, l.index);
    });
    std::vector<int> swaps;
    for (const auto& [x, y] : e.swaps) swaps.insert(swaps.end(), {x, y});
    return fbs::CreateEntry(b, b.CreateString(e.name), launches, e.arena_elements, b.CreateVector(swaps));
  });
  b.Finish(fbs::CreateProgram(b, kVersion, b.CreateString(program.target), uniforms, buffers, kernels, entries,
                              b.CreateVector(program.packs), program.subgroups, program.f16),
           fbs::ProgramIdentifier());
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

Program parse_program(const std::uint8_t* bytes, std::size_t size, const std::string& source) {
  flatbuffers::Verifier verifier(bytes, size);
  if (size < 8 || !fbs::ProgramBufferHasIdentifier(bytes) || !fbs::VerifyProgramBuffer(verifier))
    fail(source, ": not a tabgrad Program, or damaged");
  const fbs::Program& f = *fbs::GetProgram(bytes);
  if (f.version() != kVersion) fail(source, ": Program version ", f.version(), "; this build reads version ", kVersion);
  const Reader reader(source);
  Program program;
  program.target = to_text(f.target());
  if (f.uniforms())
    for (const flatbuffers::String* s : *f.uniforms()) program.uniforms.push_back(s->str());
  if (f.buffers()) {
    for (const fbs::Buffer* x : *f.buffers()) {
      program.buffers.push_back({to_text(x->name()), to_enum<BufferRole>(x->role(), 6, source),
                                 to_enum<DType>(x->dtype(), 3, source), to_vector(x->dims()), x->arena_offset(),
                                 to_vector(x->data()), x->pack(), x->pack_offset()});
    }
  }
  program.packs = to_vector(f.packs());
  program.subgroups = f.subgroups();
  program.f16 = f.f16();
  if (f.kernels())
    for (const fbs::Kernel* k : *f.kernels()) program.kernels.push_back(reader.read(k));
  if (f.entries()) {
    for (const fbs::Entry* e : *f.entries()) {
      Entry entry{to_text(e->name()), {}, e->arena_elements(), {}};
      const std::vector<int> swaps = to_vector(e->swaps());
      if (swaps.size() % 2 != 0) fail(source, ": damaged Program: half a pair of buffers");
      for (std::size_t i = 0; i < swaps.size(); i += 2) entry.swaps.push_back({swaps[i], swaps[i + 1]});
      if (e->launches())
        for (const fbs::Launch* l : *e->launches()) {
          entry.launches.push_back({l->kernel(),
                                    to_vector(l->args()),
                                    to_text(l->label()),
                                    l->flops(),
                                    l->bytes(),
                                    {1, 1, 1},
                                    l->first_row(),
                                    l->index()});
          const std::vector<std::uint32_t> grid = to_vector(l->grid());
          if (grid.size() == 3) std::copy(grid.begin(), grid.end(), entry.launches.back().grid.begin());
        }
      program.entries.push_back(std::move(entry));
    }
  }
  validate(program, source);
  return program;
}

}  // namespace tabgrad
