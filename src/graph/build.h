// Builder functions: typed handles on a graph's values, with NumPy's broadcasting made explicit.
#pragma once

#include <initializer_list>
#include <vector>

#include "graph/graph.h"

namespace tabgrad {

struct Tensor {
  Graph* graph = nullptr;
  Value value;
  const Dims& dims() const { return graph->dims(value); }
  std::int64_t dim(int i) const;  // negative counts from the end
  int rank() const { return static_cast<int>(dims().size()); }
};

Tensor input(Graph& g, const std::string& name, Dims dims, Role role = Role::kInput, DType dtype = DType::kF32);
Tensor literal(Graph& g, const std::string& name, HostTensor data);
Tensor constant(Graph& g, double value, Dims dims = {});
Tensor uniform(Graph& g, const std::string& name);
Tensor iota(Graph& g, Dims dims, int axis);                        // f32 index along axis
Tensor random_uniform(Graph& g, Dims dims, std::uint32_t stream);  // [0,1)

Tensor scalar_op(ScalarOp op, const std::vector<Tensor>& args);  // broadcasts
Tensor operator+(Tensor a, Tensor b);
Tensor operator-(Tensor a, Tensor b);
Tensor operator*(Tensor a, Tensor b);
Tensor operator/(Tensor a, Tensor b);
Tensor operator+(Tensor a, double b);
Tensor operator-(Tensor a, double b);
Tensor operator*(Tensor a, double b);
Tensor operator/(Tensor a, double b);
Tensor operator-(Tensor a);
Tensor maximum(Tensor a, Tensor b);
Tensor minimum(Tensor a, Tensor b);
Tensor less(Tensor a, Tensor b);  // 1 or 0
Tensor equal(Tensor a, Tensor b);
Tensor select(Tensor condition, Tensor yes, Tensor no);
Tensor exp(Tensor x);
Tensor log(Tensor x);
Tensor sqrt(Tensor x);
Tensor rsqrt(Tensor x);
Tensor tanh(Tensor x);
Tensor sigmoid(Tensor x);
Tensor erf(Tensor x);
Tensor abs(Tensor x);
Tensor cast_f32(Tensor ids);

Tensor reshape(Tensor x, Dims dims);  // one dimension may be -1
Tensor permute(Tensor x, Dims axes);
Tensor expand(Tensor x, Dims dims);  // NumPy's broadcast_to
Tensor slice(Tensor x, int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1);
Tensor pad(Tensor x, int axis, std::int64_t before, std::int64_t after);
Tensor concat(const std::vector<Tensor>& parts, int axis);  // a sum of pads
Tensor sum(Tensor x, Dims axes, bool keep_dims = false);    // negative axes count from the end
Tensor max(Tensor x, Dims axes, bool keep_dims = false);
Tensor mean(Tensor x, Dims axes, bool keep_dims = false);
// (…,M,K)·(…,K,N); b of rank 2 is shared by all leading dimensions of a.
Tensor matmul(Tensor a, Tensor b, bool transpose_a = false, bool transpose_b = false);
Tensor gather(Tensor table, Tensor ids);  // (V,D), any shape of ids → ids' shape + (D)

}  // namespace tabgrad
