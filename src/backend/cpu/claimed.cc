// Launches of hand-tuned kernels: gathers, segment sums and the composites that the CPU claims.
#include <algorithm>
#include <memory>

#include "backend/cpu/launch.h"

namespace tabgrad::cpu {
namespace {

const std::int32_t* ids(const float* buffer) { return reinterpret_cast<const std::int32_t*>(buffer); }

PreparedLaunch optimizer(const Kernel& k, const std::vector<float*>& args, LaunchContext context) {
  const bool sgd = k.composite == Composite::kSgd;
  struct State {
    Optimizer step;
    std::vector<Segment> segments;
    int lr = -1, bias1 = -1, bias2 = -1;
  };
  auto state = std::make_shared<State>();
  const std::size_t each = sgd ? 3 : 4;
  for (std::size_t i = 0; i < k.weight_decay.size(); ++i) {
    float* const* a = args.data() + 1 + i * each;
    state->segments.push_back(
        {a[0], a[1], sgd ? nullptr : a[2], sgd ? a[2] : a[3], num_elements(k.arg_dims[1 + i * each]), k.weight_decay[i]});
  }
  Optimizer& s = state->step;
  s.kind = sgd ? OptimizerKind::kSgd : k.attrs.decoupled_decay ? OptimizerKind::kAdamW : OptimizerKind::kAdam;
  s.beta1 = k.attrs.beta1;
  s.beta2 = k.attrs.beta2;
  s.eps = k.attrs.eps;
  s.momentum = k.attrs.momentum;
  s.nesterov = k.attrs.nesterov;
  s.clip_scale = args[0];
  s.segments = state->segments.data();
  s.count = static_cast<std::int64_t>(state->segments.size());
  auto find = [&](const char* name) {
    const auto& names = context.program.uniforms;
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) fail("[optimizer] the Program has no uniform '", name, "'");
    return static_cast<int>(at - names.begin());
  };
  state->lr = find("lr");
  if (!sgd) {
    state->bias1 = find("bias1");
    state->bias2 = find("bias2");
  }
  return [state, &pool = context.pool, &values = context.values] {
    auto value = [&](int index) { return values.uniforms[static_cast<std::size_t>(index)]; };
    state->step.lr = value(state->lr);
    if (state->bias1 >= 0) {
      state->step.bias1 = value(state->bias1);
      state->step.bias2 = value(state->bias2);
    }
    optimizer_step(state->step, pool);
  };
}

PreparedLaunch attention(const Kernel& k, const std::vector<float*>& a, LaunchContext context) {
  const Dims& d = k.arg_dims[0];
  Attention s;
  s.b = d[0];
  s.t = d[1];
  s.heads = k.attrs.heads;
  s.kv_heads = k.attrs.kv_heads;
  s.d = d[2] / (s.heads + 2 * s.kv_heads);
  s.causal = k.attrs.causal;
  s.scale = k.attrs.scale;
  s.qkv = a[0];
  context.workspace.need_scratch(attention_scratch_floats(s, context.pool.threads()));
  return [s, a, grad = k.grad, &pool = context.pool, &w = context.workspace] {
    if (grad) {
      attention_backward(s, a[1], a[2], a[3], a[4], pool, w.scratch);
    } else {
      attention_forward(s, a[1], a[2], pool, w.scratch);
    }
  };
}

PreparedLaunch lstm(const Kernel& k, const std::vector<float*>& a, LaunchContext context) {
  Lstm s;
  s.t = k.arg_dims[0][0];
  s.b = k.arg_dims[0][1];
  s.h = k.arg_dims[1][0];
  s.xw = a[0];
  s.wh = a[1];
  s.h0 = a[2];
  s.c0 = a[3];
  context.workspace.need_scratch(lstm_scratch_floats(s, context.pool.threads()));
  return [s, a, grad = k.grad, &pool = context.pool, &w = context.workspace] {
    if (grad) {
      lstm_backward(s, a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], pool, w.scratch);
    } else {
      lstm_forward(s, a[4], a[5], a[6], pool, w.scratch);
    }
  };
}

PreparedLaunch gru(const Kernel& k, const std::vector<float*>& a, LaunchContext context) {
  Gru s;
  s.t = k.arg_dims[0][0];
  s.b = k.arg_dims[0][1];
  s.h = k.arg_dims[1][0];
  s.reset_after = k.attrs.reset_after;
  s.xw = a[0];
  s.wh = a[1];
  s.bh = a[2];
  s.h0 = a[3];
  context.workspace.need_scratch(gru_scratch_floats(s, context.pool.threads()));
  return [s, a, grad = k.grad, &pool = context.pool, &w = context.workspace] {
    if (grad) {
      gru_backward(s, a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], pool, w.scratch);
    } else {
      gru_forward(s, a[4], a[5], a[6], pool, w.scratch);
    }
  };
}

PreparedLaunch norm(const Kernel& k, const std::vector<float*>& a, LaunchContext context) {
  Norm s;
  s.rows = k.arg_dims[0][0];
  s.cols = k.arg_dims[0][1];
  s.rms = k.composite == Composite::kRmsNorm;
  s.eps = k.attrs.eps;
  s.x = a[0];
  s.gamma = a[1];
  s.beta = s.rms ? nullptr : a[2];
  if (!k.grad) {
    return [s, a, &pool = context.pool] {
      if (s.rms) {
        norm_forward(s, a[2], nullptr, a[3], pool);
      } else {
        norm_forward(s, a[3], a[4], a[5], pool);
      }
    };
  }
  context.workspace.need_scratch(norm_scratch_floats(s, context.pool.threads()));
  return [s, a, &pool = context.pool, &w = context.workspace] {
    if (s.rms) {
      norm_backward(s, nullptr, a[3], a[4], a[5], a[6], nullptr, pool, w.scratch);
    } else {
      norm_backward(s, a[4], a[5], a[6], a[7], a[8], a[9], pool, w.scratch);
    }
  };
}

PreparedLaunch squares(const Kernel& k, const std::vector<float*>& args, LaunchContext context) {
  auto arrays = std::make_shared<std::vector<ConstSpan>>();
  for (std::size_t i = 0; i + 1 < args.size(); ++i) arrays->push_back({args[i], num_elements(k.arg_dims[i])});
  const auto count = static_cast<std::int64_t>(arrays->size());
  context.workspace.need_scratch(sum_squares_scratch_floats(arrays->data(), count));
  return [=, out = args.back(), &pool = context.pool, &w = context.workspace] {
    sum_squares(arrays->data(), count, out, pool, w.scratch);
  };
}

}  // namespace

PreparedLaunch prepare_composite(const Kernel& k, std::vector<float*> a, LaunchContext context) {
  ThreadPool& pool = context.pool;
  const std::int64_t rows = k.arg_dims[0].empty() ? 1 : k.arg_dims[0][0],
                     cols = k.arg_dims[0].size() > 1 ? k.arg_dims[0][1] : 1;
  switch (k.composite) {
    case Composite::kSoftmax:
      return [=, &pool, grad = k.grad] {
        if (grad) {
          softmax_backward(rows, cols, a[1], a[2], a[3], pool);
        } else {
          softmax_forward(rows, cols, a[0], a[1], pool);
        }
      };
    case Composite::kLayerNorm:
    case Composite::kRmsNorm: return norm(k, a, context);
    case Composite::kCrossEntropy:
      return [=, &pool, grad = k.grad] {
        if (grad) {
          cross_entropy_backward(rows, cols, a[0], ids(a[1]), a[3], a[4], a[5], pool);
        } else {
          cross_entropy_forward(rows, cols, a[0], ids(a[1]), a[2], a[3], pool);
        }
      };
    case Composite::kAttention: return attention(k, a, context);
    case Composite::kLstm: return lstm(k, a, context);
    case Composite::kGru: return gru(k, a, context);
    case Composite::kSumSquares: return squares(k, a, context);
    case Composite::kSgd:
    case Composite::kAdam: return optimizer(k, a, context);
  }
  TG_CHECK(false);
}

PreparedLaunch prepare_launch(const Kernel& k, std::vector<float*> a, LaunchContext context) {
  ThreadPool& pool = context.pool;
  switch (k.kind) {
    case KernelKind::kMap: return prepare_map(k, std::move(a), context);
    case KernelKind::kReduce: return prepare_reduce(k, std::move(a), context);
    case KernelKind::kContract: return prepare_contract(k, std::move(a), context);
    case KernelKind::kComposite: return prepare_composite(k, std::move(a), context);
    case KernelKind::kShader: fail("the Program was compiled for a GPU: the CPU cannot run its text");
    case KernelKind::kGather: {
      const std::int64_t n = k.arg_dims[1][0], vocabulary = k.arg_dims[0][0], cols = k.arg_dims[0][1];
      return [=, &pool] { gather_rows(n, cols, vocabulary, a[0], ids(a[1]), a[2], pool); };
    }
    case KernelKind::kSegmentSum: {
      const std::int64_t n = k.arg_dims[0][0], vocabulary = k.arg_dims[2][0], cols = k.arg_dims[2][1];
      auto order = std::make_shared<std::vector<std::int32_t>>(static_cast<std::size_t>(n));
      auto offsets = std::make_shared<std::vector<std::int32_t>>(static_cast<std::size_t>(vocabulary) + 1);
      return [=, &pool] {
        sort_ids(n, vocabulary, ids(a[0]), order->data(), offsets->data());
        segment_sum(vocabulary, cols, a[1], order->data(), offsets->data(), a[2], pool);
      };
    }
  }
  TG_CHECK(false);
}

}  // namespace tabgrad::cpu
