// a·b + c and c − a·b: one rounding where the machine fuses them, two where it does not. Compiled once per instruction set.
//
// Highway knows no relaxed SIMD, whose multiply-add is the only fused one of WebAssembly, so it is called here in builds with
// -mrelaxed-simd. Whether it fuses is the browser's machine's choice, so bits agree within one build on one machine.
#if defined(TABGRAD_BACKEND_CPU_SIMD_FUSED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABGRAD_BACKEND_CPU_SIMD_FUSED_INL_H_
#undef TABGRAD_BACKEND_CPU_SIMD_FUSED_INL_H_
#else
#define TABGRAD_BACKEND_CPU_SIMD_FUSED_INL_H_
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Of float or double vectors.
#if defined(__wasm_relaxed_simd__)
template <std::size_t N>
HWY_INLINE hn::Vec128<float, N> mul_add(hn::Vec128<float, N> a, hn::Vec128<float, N> b, hn::Vec128<float, N> c) {
  return hn::Vec128<float, N>{wasm_f32x4_relaxed_madd(a.raw, b.raw, c.raw)};
}
template <std::size_t N>
HWY_INLINE hn::Vec128<double, N> mul_add(hn::Vec128<double, N> a, hn::Vec128<double, N> b, hn::Vec128<double, N> c) {
  return hn::Vec128<double, N>{wasm_f64x2_relaxed_madd(a.raw, b.raw, c.raw)};
}
template <std::size_t N>
HWY_INLINE hn::Vec128<float, N> neg_mul_add(hn::Vec128<float, N> a, hn::Vec128<float, N> b, hn::Vec128<float, N> c) {
  return hn::Vec128<float, N>{wasm_f32x4_relaxed_nmadd(a.raw, b.raw, c.raw)};
}
#else
template <class V>
HWY_INLINE V mul_add(V a, V b, V c) {
  return hn::MulAdd(a, b, c);
}
template <class V>
HWY_INLINE V neg_mul_add(V a, V b, V c) {
  return hn::NegMulAdd(a, b, c);
}
#endif

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
