// What an entry promises its runner, checked on the finished Program.
#include <algorithm>
#include <map>

#include "plan/passes.h"

namespace tabgrad {
namespace {

// Which arguments a launch writes.
std::vector<bool> written_args(const Kernel& k, std::size_t count) {
  std::vector<bool> writes(count, false);
  switch (k.kind) {
    case KernelKind::kMap:
    case KernelKind::kReduce:
    case KernelKind::kContract:
      for (const Store& s : k.body.stores) writes[static_cast<std::size_t>(s.arg)] = true;
      if (k.kind == KernelKind::kContract) writes[2] = true;
      break;
    case KernelKind::kGather:
    case KernelKind::kSegmentSum: writes[2] = true; break;
    case KernelKind::kShader:
      for (std::size_t i = 0; i < count; ++i) writes[i] = k.shader.args[i].written;
      break;
    case KernelKind::kComposite: {
      if (!k.weight_decay.empty()) {
        const std::size_t each = (count - 1) / k.weight_decay.size();
        for (std::size_t i = 1; i < count; ++i) writes[i] = (i - 1) % each != 1;  // all but the gradient
        break;
      }
      static const std::map<Composite, std::pair<std::size_t, std::size_t>> outputs{
          {Composite::kSoftmax, {1, 1}},      {Composite::kLayerNorm, {3, 3}}, {Composite::kRmsNorm, {2, 2}},
          {Composite::kCrossEntropy, {2, 1}}, {Composite::kAttention, {2, 1}}, {Composite::kLstm, {3, 4}},
          {Composite::kGru, {3, 4}},          {Composite::kSumSquares, {1, 0}}};
      const auto& [forward, backward] = outputs.at(k.composite);
      for (std::size_t i = count - (k.grad ? backward : forward); i < count; ++i) writes[i] = true;
      break;
    }
  }
  return writes;
}

std::int64_t words(const Buffer& b) { return storage_words(b.dtype, num_elements(b.dims)); }

}  // namespace

void verify_entry(const Program& program, const Entry& entry) {
  struct Use {
    int first = -1, last = -1;
  };
  std::map<int, Use> uses;
  for (std::size_t l = 0; l < entry.launches.size(); ++l) {
    const Launch& launch = entry.launches[l];
    const std::vector<bool> writes = written_args(program.kernels[static_cast<std::size_t>(launch.kernel)], launch.args.size());
    for (std::size_t a = 0; a < launch.args.size(); ++a) {
      const int b = launch.args[a];
      if (b < 0) continue;
      const Buffer& buffer = program.buffers[static_cast<std::size_t>(b)];
      const bool in_texture = program.kernels[static_cast<std::size_t>(launch.kernel)].shader.fragment;
      if (buffer.role != BufferRole::kActivation || (buffer.pack >= 0 && !in_texture)) continue;
      Use& use = uses[b];
      if (use.first < 0) {
        TG_CHECK(writes[a]);
        use.first = static_cast<int>(l);
      }
      use.last = static_cast<int>(l);
    }
  }
  // Two activations in one place: one must end before the other begins, or end in the launch that begins the other (in place).
  for (auto i = uses.begin(); i != uses.end(); ++i) {
    const Buffer& x = program.buffers[static_cast<std::size_t>(i->first)];
    for (auto j = std::next(i); j != uses.end(); ++j) {
      const Buffer& y = program.buffers[static_cast<std::size_t>(j->first)];
      const bool overlap =
          x.pack == y.pack &&
          (x.pack >= 0 || (x.arena_offset < y.arena_offset + words(y) && y.arena_offset < x.arena_offset + words(x)));
      if (!overlap) continue;
      const bool apart = i->second.last < j->second.first || j->second.last < i->second.first;
      const bool in_place = x.pack < 0 && x.arena_offset == y.arena_offset &&
                            (i->second.last == j->second.first || j->second.last == i->second.first);
      TG_CHECK(apart || in_place);
    }
  }
}

}  // namespace tabgrad
