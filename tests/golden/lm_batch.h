// The token ids of language models' goldens.
#pragma once

#include <vector>

#include "models/gpt_config.h"
#include "tensor/host_tensor.h"
#include "tensor/philox.h"

namespace tabgrad::golden {

inline constexpr std::uint64_t kLmSeed = 1;

struct LmBatch {
  HostTensor tokens, targets;
};

// Token ids are Philox words mod 256 of stream 1000 + step, (B,T+1) row-major: inputs are the first T of a row, targets the last.
inline LmBatch lm_batch(const GptConfig& c, int step) {
  std::vector<std::int32_t> tokens, targets;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.context; ++t)
      for (int shift = 0; shift < 2; ++shift) {
        const auto i = static_cast<std::uint64_t>(b * (c.context + 1) + t + shift);
        const auto id = static_cast<std::int32_t>(philox_u32(kLmSeed, static_cast<std::uint32_t>(1000 + step), i) % 256);
        (shift ? targets : tokens).push_back(id);
      }
  return {HostTensor::of_ids({c.batch, c.context}, tokens), HostTensor::of_ids({c.batch, c.context}, targets)};
}

}  // namespace tabgrad::golden
