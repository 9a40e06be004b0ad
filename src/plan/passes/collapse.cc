// Fewer, longer dimensions: runners walk rows of the last one.
#include <algorithm>
#include <functional>

#include "plan/passes.h"

namespace tabgrad {
namespace {

// Visits every per-dimension coefficient list of a body.
void for_each_strides(Body& body, const std::function<void(Dims&, std::vector<DimRange>*)>& visit) {
  for (Load& l : body.loads) visit(l.at.strides, &l.at.ranges);
  for (Store& s : body.stores) visit(s.at.strides, &s.at.ranges);
  for (Instr& i : body.code)
    if (i.kind == InstrKind::kIndex || i.kind == InstrKind::kRandom) visit(i.affine.coef, nullptr);
}

bool ranged(const std::vector<DimRange>* ranges, std::size_t dim) {
  return ranges &&
         std::any_of(ranges->begin(), ranges->end(), [&](const DimRange& r) { return r.dim == static_cast<int>(dim); });
}

void erase_dim(Body& body, std::size_t dim) {
  body.space.erase(body.space.begin() + static_cast<std::ptrdiff_t>(dim));
  for_each_strides(body, [&](Dims& strides, std::vector<DimRange>* ranges) {
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
    if (!ranges) return;
    for (DimRange& r : *ranges)
      if (r.dim > static_cast<int>(dim)) --r.dim;
  });
}

void permute_dims(Body& body, const std::vector<std::size_t>& order) {
  auto reorder = [&](Dims& d) {
    Dims old = d;
    for (std::size_t i = 0; i < order.size(); ++i) d[i] = old[order[i]];
  };
  reorder(body.space);
  for_each_strides(body, [&](Dims& strides, std::vector<DimRange>* ranges) {
    reorder(strides);
    if (!ranges) return;
    for (DimRange& r : *ranges)
      r.dim = static_cast<int>(std::find(order.begin(), order.end(), static_cast<std::size_t>(r.dim)) - order.begin());
  });
}

// flags: dimensions with different flags are never joined.
void join_dims(Body& body, std::vector<int>& flags) {
  for (std::size_t d = body.space.size(); d-- > 0;) {
    bool free = body.space[d] == 1;
    for_each_strides(body, [&](Dims&, std::vector<DimRange>* ranges) { free = free && !ranged(ranges, d); });
    if (!free) continue;
    erase_dim(body, d);
    flags.erase(flags.begin() + static_cast<std::ptrdiff_t>(d));
  }
  for (std::size_t d = body.space.size(); d-- > 1;) {
    bool joins = flags[d] == flags[d - 1];
    for_each_strides(body, [&](Dims& strides, std::vector<DimRange>* ranges) {
      joins = joins && strides[d - 1] == strides[d] * body.space[d] && !ranged(ranges, d) && !ranged(ranges, d - 1);
    });
    if (!joins) continue;
    body.space[d - 1] *= body.space[d];
    for_each_strides(body, [&](Dims& strides, std::vector<DimRange>*) { strides[d - 1] = strides[d]; });
    erase_dim(body, d);
    flags.erase(flags.begin() + static_cast<std::ptrdiff_t>(d));
  }
}

}  // namespace

void collapse(Kernel& kernel) {
  Body& body = kernel.body;
  std::vector<int> flags(body.space.size(), 0);
  switch (kernel.kind) {
    case KernelKind::kMap: join_dims(body, flags); return;
    case KernelKind::kContract:
    case KernelKind::kGather:
    case KernelKind::kComposite:
      if (body.code.empty() || body.space.empty()) return;
      flags.back() = 1;  // the last dimension stays the row
      if (body.space.back() == 1) return;
      join_dims(body, flags);
      return;
    case KernelKind::kReduce: {
      for (std::int64_t axis : kernel.arg_dims[0]) flags[static_cast<std::size_t>(axis)] = 1;
      kernel.arg_dims.clear();
      join_dims(body, flags);
      // kept…, reduced…, and the last dimension last if it is kept
      const std::size_t rank = body.space.size();
      kernel.keep_last = rank > 0 && flags[rank - 1] == 0;
      std::vector<std::size_t> order;
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t d = 0; d + (kernel.keep_last ? 1 : 0) < rank; ++d)
          if (flags[d] == pass) order.push_back(d);
      if (kernel.keep_last) order.push_back(rank - 1);
      permute_dims(body, order);
      kernel.reduced = static_cast<int>(std::count(flags.begin(), flags.end(), 1));
      // The result's strides cover the kept dimensions only.
      Dims& strides = body.stores[0].at.strides;
      const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(rank) - kernel.reduced - (kernel.keep_last ? 1 : 0);
      strides.erase(strides.begin() + first, strides.begin() + first + kernel.reduced);
      return;
    }
    case KernelKind::kSegmentSum:
    case KernelKind::kShader: return;
  }
}

}  // namespace tabgrad
