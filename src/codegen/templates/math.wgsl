// The structure and the coefficients of backend/cpu/simd/math_inl.h, since WGSL's own exp, tanh, log, sin and cos may err by far
// more than the tolerances of the ops. Printed for f32 (F = f32) and, where needed, for vectors of four.
fn tg_pow2$W(n: $I) -> $F { return bitcast<$F>((n + 127) << $U(23)); }
fn tg_expm1_reduced$W(x: $F, n: $F) -> $F {
  let r = (x - n * 0.693359375) + n * 2.12194440e-4;
  var p = $F(0.0013950479);
  p = p * r + 0.008368884;
  p = p * r + 0.041666206;
  p = p * r + 0.16666518;
  p = p * r + 0.5;
  return p * (r * r) + r;
}
fn tg_exp$W(x: $F) -> $F {
  let y = clamp(x, $F(-104.0), $F(89.0));
  let n = round(y * 1.44269504);
  let q = tg_expm1_reduced$W(y, n);
  let half = floor(n * 0.5);
  let s1 = tg_pow2$W($I(half));
  return (s1 * q + s1) * tg_pow2$W($I(n - half));
}
fn tg_exp_clamped$W(x: $F) -> $F {
  let y = clamp(x, $F(-87.0), $F(88.0));
  let n = round(y * 1.44269504);
  let s = tg_pow2$W($I(n));
  return s * tg_expm1_reduced$W(y, n) + s;
}
fn tg_tanh$W(x: $F) -> $F {
  let y = min(abs(x) + abs(x), $F(20.0));
  let n = round(y * 1.44269504);
  let s = tg_pow2$W($I(n));
  let e = s * tg_expm1_reduced$W(y, n) + (s - 1.0);
  let t = e / (e + 2.0);
  return select(t, -t, x < $F(0.0));
}
fn tg_sigmoid$W(x: $F) -> $F {
  let e = tg_exp_clamped$W(-abs(x));
  return select($F(1.0), e, x < $F(0.0)) / (e + 1.0);
}
fn tg_erf$W(x: $F) -> $F {
  let t = min(abs(x), $F(4.0));
  let s = x * x;
  var p = $F(-0.0005953739);
  p = p * s + 0.00498594;
  p = p * s - 0.02676172;
  p = p * s + 0.112816826;
  p = p * s - 0.3761248;
  p = p * s + 0.12837915;
  let small = p * x + x;
  var q = $F(-1.1231466e-05);
  q = q * t + 0.0003228054;
  q = q * t - 0.003642465;
  q = q * t + 0.023762075;
  q = q * t - 0.10623689;
  q = q * t - 0.6351513;
  q = q * t - 1.1286485;
  let large = 1.0 - tg_exp_clamped$W(q * t);
  return select(small, select(large, -large, x < $F(0.0)), t > $F(0.925));
}
fn tg_gelu$W(x: $F) -> $F {
  let half = 0.5 * x;
  return half * tg_erf$W(x * 0.70710678) + half;
}
fn tg_gelu_slope$W(x: $F) -> $F {
  let distribution = 0.5 * tg_erf$W(x * 0.70710678) + 0.5;
  return x * (0.39894228 * tg_exp$W(x * x * -0.5)) + distribution;
}
// Cephes' logf: x = m·2^e with m in [√½, √2).
fn tg_log$W(x: $F) -> $F {
  let bits = bitcast<$I>(x);
  var e = (bits >> $U(23)) - 126;
  var m = bitcast<$F>((bits & $I(0x007fffff)) | $I(0x3f000000));
  let low = m < $F(0.70710678);
  e = select(e, e - 1, low);
  m = select(m, m + m, low) - 1.0;
  let z = m * m;
  var p = $F(7.0376836292e-2);
  p = p * m - 1.1514610310e-1;
  p = p * m + 1.1676998740e-1;
  p = p * m - 1.2420140846e-1;
  p = p * m + 1.4249322787e-1;
  p = p * m - 1.6668057665e-1;
  p = p * m + 2.0000714765e-1;
  p = p * m - 2.4999993993e-1;
  p = p * m + 3.3333331174e-1;
  let f = $F(e);
  let y = p * m * z + f * -2.12194440e-4 - 0.5 * z;
  // Zero and infinity take WGSL's own log, which knows them.
  return select(log(x), (m + y) + f * 0.693359375, (x > $F(1.1754944e-38)) & (x < $F(3.4e38)));
}
// Cephes' sinf and cosf over x = n·π/2 + r, |r| ≤ π/4; π/2 in three parts.
fn tg_sin_quadrant$W(x: $F, shift: i32) -> $F {
  let n = round(x * 0.63661977);
  let r = ((x - n * 1.5703125) - n * 4.837512969970703125e-4) - n * 7.54978995489188e-8;
  let z = r * r;
  let s = ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * r + r;
  let c = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
  let q = $I(n) + shift;
  let y = select(s, c, (q & $I(1)) == $I(1));
  return select(y, -y, (q & $I(2)) == $I(2));
}
fn tg_sin$W(x: $F) -> $F { return tg_sin_quadrant$W(x, 0); }
fn tg_cos$W(x: $F) -> $F { return tg_sin_quadrant$W(x, 1); }
// By bits: a comparison may flush subnormal numbers to zero.
fn tg_sign$W(x: $F) -> $F {
  let bits = bitcast<$I>(x);
  let one = select($F(1.0), $F(-1.0), bits < $I(0));
  return select(one, $F(0.0), (bits & $I(0x7fffffff)) == $I(0));
}
