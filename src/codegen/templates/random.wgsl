// Philox4x32-10 as tensor/philox.h has it, bit for bit; the 64-bit products from 16-bit pieces, which WGSL and GLSL ES have.
fn tg_mul_high(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let middle = ah * bl + ((al * bl) >> 16u);
  let carry = al * bh + (middle & 0xffffu);
  return ah * bh + (middle >> 16u) + (carry >> 16u);
}
fn tg_random(stream: u32, i: u32) -> f32 {
  var key = vec2u(tg_u[0].x, tg_u[0].y);
  var c = vec4u(i >> 2u, 0u, stream, tg_u[0].z);
  for (var round = 0; round < 10; round++) {
    let high0 = tg_mul_high(0xD2511F53u, c.x);
    let high1 = tg_mul_high(0xCD9E8D57u, c.z);
    c = vec4u(high1 ^ c.y ^ key.x, 0xCD9E8D57u * c.z, high0 ^ c.w ^ key.y, 0xD2511F53u * c.x);
    key += vec2u(0x9E3779B9u, 0xBB67AE85u);
  }
  return f32(c[i & 3u] >> 8u) * 5.9604644775390625e-8;
}
