// Functions of GLSL shaders, each under a line with its name; later ones use earlier ones. Where $F, $I stand the text is printed
// twice, for one number (float, int) and for four (vec4, ivec4).
//
// The structure and the coefficients are those of templates/math.wgsl and backend/cpu/simd/math_inl.h: GLSL's own exp, tanh, log, sin
// and cos may err by far more than the tolerances of the ops.

// tg_less
bool tg_less(float a, float b) { return a < b; }
bvec4 tg_less(vec4 a, vec4 b) { return lessThan(a, b); }
// tg_bit: of a whole number
bool tg_bit(int a, int bit) { return (a & bit) != 0; }
bvec4 tg_bit(ivec4 a, int bit) { return notEqual(a & ivec4(bit), ivec4(0)); }
// tg_bits
int tg_bits(float a) { return floatBitsToInt(a); }
ivec4 tg_bits(vec4 a) { return floatBitsToInt(a); }
// tg_pow2
$F tg_pow2($I n) { return intBitsToFloat((n + 127) << 23); }
// tg_expm1_reduced
$F tg_expm1_reduced($F x, $F n) {
  $F r = (x - n * 0.693359375) + n * 2.12194440e-4;
  $F p = $F(0.0013950479);
  p = p * r + 0.008368884;
  p = p * r + 0.041666206;
  p = p * r + 0.16666518;
  p = p * r + 0.5;
  return p * (r * r) + r;
}
// tg_exp
$F tg_exp($F x) {
  $F y = clamp(x, -104.0, 89.0);
  $F n = floor(y * 1.44269504 + 0.5);
  $F q = tg_expm1_reduced(y, n);
  $F part = floor(n * 0.5);
  $F s1 = tg_pow2($I(part));
  return (s1 * q + s1) * tg_pow2($I(n - part));
}
// tg_exp_clamped
$F tg_exp_clamped($F x) {
  $F y = clamp(x, -87.0, 88.0);
  $F n = floor(y * 1.44269504 + 0.5);
  $F s = tg_pow2($I(n));
  return s * tg_expm1_reduced(y, n) + s;
}
// tg_tanh
$F tg_tanh($F x) {
  $F y = min(abs(x) + abs(x), 20.0);
  $F n = floor(y * 1.44269504 + 0.5);
  $F s = tg_pow2($I(n));
  $F e = s * tg_expm1_reduced(y, n) + (s - 1.0);
  $F t = e / (e + 2.0);
  return mix(t, -t, tg_less(x, $F(0.0)));
}
// tg_sigmoid
$F tg_sigmoid($F x) {
  $F e = tg_exp_clamped(-abs(x));
  return mix($F(1.0), e, tg_less(x, $F(0.0))) / (e + 1.0);
}
// tg_erf
$F tg_erf($F x) {
  $F t = min(abs(x), 4.0);
  $F s = x * x;
  $F p = $F(-0.0005953739);
  p = p * s + 0.00498594;
  p = p * s - 0.02676172;
  p = p * s + 0.112816826;
  p = p * s - 0.3761248;
  p = p * s + 0.12837915;
  $F small = p * x + x;
  $F q = $F(-1.1231466e-05);
  q = q * t + 0.0003228054;
  q = q * t - 0.003642465;
  q = q * t + 0.023762075;
  q = q * t - 0.10623689;
  q = q * t - 0.6351513;
  q = q * t - 1.1286485;
  $F large = 1.0 - tg_exp_clamped(q * t);
  return mix(small, mix(large, -large, tg_less(x, $F(0.0))), tg_less($F(0.925), t));
}
// tg_gelu
$F tg_gelu($F x) {
  $F part = 0.5 * x;
  return part * tg_erf(x * 0.70710678) + part;
}
// tg_gelu_slope
$F tg_gelu_slope($F x) {
  $F distribution = 0.5 * tg_erf(x * 0.70710678) + 0.5;
  return x * (0.39894228 * tg_exp(x * x * -0.5)) + distribution;
}
// tg_log: Cephes' logf, x = m·2^e with m in [√½, √2). Zero and infinity take GLSL's own log, which knows them.
$F tg_log($F x) {
  $I bits = tg_bits(x);
  $F f = $F((bits >> 23) - 126);
  $F m = intBitsToFloat((bits & $I(0x007fffff)) | $I(0x3f000000));
  $F low = mix($F(0.0), $F(1.0), tg_less(m, $F(0.70710678)));
  f = f - low;
  m = m + m * low - 1.0;
  $F z = m * m;
  $F p = $F(7.0376836292e-2);
  p = p * m - 1.1514610310e-1;
  p = p * m + 1.1676998740e-1;
  p = p * m - 1.2420140846e-1;
  p = p * m + 1.4249322787e-1;
  p = p * m - 1.6668057665e-1;
  p = p * m + 2.0000714765e-1;
  p = p * m - 2.4999993993e-1;
  p = p * m + 3.3333331174e-1;
  $F y = p * m * z + f * -2.12194440e-4 - 0.5 * z;
  $F inside = mix(log(x), (m + y) + f * 0.693359375, tg_less($F(1.1754944e-38), x));
  return mix(log(x), inside, tg_less(x, $F(3.4e38)));
}
// tg_sin_quadrant: Cephes' sinf and cosf over x = n·π/2 + r, |r| ≤ π/4; π/2 in three parts.
$F tg_sin_quadrant($F x, int shift) {
  $F n = floor(x * 0.63661977 + 0.5);
  $F r = ((x - n * 1.5703125) - n * 4.837512969970703125e-4) - n * 7.54978995489188e-8;
  $F z = r * r;
  $F s = ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * r + r;
  $F c = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
  $I q = $I(n) + shift;
  $F y = mix(s, c, tg_bit(q, 1));
  return mix(y, -y, tg_bit(q, 2));
}
// tg_sin
$F tg_sin($F x) { return tg_sin_quadrant(x, 0); }
// tg_cos
$F tg_cos($F x) { return tg_sin_quadrant(x, 1); }
// tg_sign: by bits, since a comparison may flush subnormal numbers to zero.
$F tg_sign($F x) {
  $I bits = tg_bits(x);
  $F one = mix($F(1.0), $F(-1.0), tg_bit(bits, int(0x80000000u)));
  return one * $F(min(bits & $I(0x7fffffff), $I(1)));
}
// tg_mul_high: the high word of a product, from 16-bit pieces, since GLSL ES 3.00 has no 64-bit multiply.
uint tg_mul_high(uint a, uint b) {
  uint al = a & 0xffffu;
  uint ah = a >> 16u;
  uint bl = b & 0xffffu;
  uint bh = b >> 16u;
  uint middle = ah * bl + ((al * bl) >> 16u);
  uint carry = al * bh + (middle & 0xffffu);
  return ah * bh + (middle >> 16u) + (carry >> 16u);
}
// tg_block: Philox4x32-10 as tensor/philox.h has it, bit for bit: the words of elements i … i + 3, i a multiple of 4.
uvec4 tg_block(uint stream, uint i) {
  uvec2 key = tg_u[0].xy;
  uvec4 c = uvec4(i >> 2u, 0u, stream, tg_u[0].z);
  for (int turn = 0; turn < 10; turn++) {
    uint high0 = tg_mul_high(0xD2511F53u, c.x);
    uint high1 = tg_mul_high(0xCD9E8D57u, c.z);
    c = uvec4(high1 ^ c.y ^ key.x, 0xCD9E8D57u * c.z, high0 ^ c.w ^ key.y, 0xD2511F53u * c.x);
    key += uvec2(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}
// tg_random
float tg_random(uint stream, uint i) { return float(tg_block(stream, i)[i & 3u] >> 8u) * 5.9604644775390625e-8; }
// tg_random4
vec4 tg_random4(uint stream, uint i) { return vec4(tg_block(stream, i) >> 8u) * 5.9604644775390625e-8; }
