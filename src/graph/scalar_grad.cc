// Derivatives of the scalar operations, one line each.
#include <cmath>
#include <numbers>

#include "graph/rules.h"

namespace tabgrad {

std::vector<Tensor> scalar_gradients(ScalarOp op, const std::vector<Tensor>& args, Tensor y, Tensor dy) {
  const Tensor a = args[0];
  const Tensor b = args.size() > 1 ? args[1] : Tensor{};
  switch (op) {
    case ScalarOp::kNeg: return {-dy};
    case ScalarOp::kAbs: return {dy * scalar_op(ScalarOp::kSign, {a})};
    case ScalarOp::kSign:
    case ScalarOp::kFloor: return {Tensor{}};
    case ScalarOp::kExp: return {dy * y};
    case ScalarOp::kLog: return {dy / a};
    case ScalarOp::kSqrt: return {dy * 0.5 / y};
    case ScalarOp::kRsqrt: return {dy * -0.5 * y * y * y};
    case ScalarOp::kRecip: return {-(dy * y * y)};
    case ScalarOp::kTanh: return {dy * (constant(*dy.graph, 1.0) - y * y)};
    case ScalarOp::kSigmoid: return {dy * y * (constant(*dy.graph, 1.0) - y)};
    case ScalarOp::kErf: return {dy * exp(-(a * a)) * (2.0 / std::sqrt(std::numbers::pi))};
    case ScalarOp::kGelu: return {dy * scalar_op(ScalarOp::kGeluSlope, {a})};
    case ScalarOp::kGeluSlope: {  // φ(x)·(2 − x²)
      const Tensor density = exp(a * a * -0.5) * (1.0 / std::sqrt(2.0 * std::numbers::pi));
      return {dy * density * (constant(*dy.graph, 2.0) - a * a)};
    }
    case ScalarOp::kSin: return {dy * scalar_op(ScalarOp::kCos, {a})};
    case ScalarOp::kCos: return {-(dy * scalar_op(ScalarOp::kSin, {a}))};
    case ScalarOp::kAdd: return {dy, dy};
    case ScalarOp::kSub: return {dy, -dy};
    case ScalarOp::kMul: return {dy * b, dy * a};
    case ScalarOp::kDiv: return {dy / b, -(dy * y / b)};
    case ScalarOp::kMax: {  // a tie goes to the first argument
      const Tensor second = less(a, b);
      return {dy - dy * second, dy * second};
    }
    case ScalarOp::kMin: {
      const Tensor second = less(b, a);
      return {dy - dy * second, dy * second};
    }
    case ScalarOp::kLess:
    case ScalarOp::kEqual: return {Tensor{}, Tensor{}};
    case ScalarOp::kSelect: {
      const Tensor zero = constant(*dy.graph, 0.0);
      return {Tensor{}, select(a, dy, zero), select(a, zero, dy)};
    }
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
