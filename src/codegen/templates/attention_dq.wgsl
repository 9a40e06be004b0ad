// The gradient of the queries: each invocation owns one, computes its weights again from lse, and walks the keys.
var<workgroup> $ks: array<vec4f, $BK * $DV>;
var<workgroup> $vs: array<vec4f, $BK * $DV>;
// body
let blocks = ($T + $BQ - 1) / $BQ;
let block = i32(wg) % blocks;
let h = i32(wg) / blocks % $H;
let b = i32(wg) / blocks / $H;
let i = block * $BQ + i32(lid);
let row = b * $T + min(i, $T - 1);
let k_at = b * $T * $W + ($H + h / $G) * $D;
let out_at = row * $H * $D + h * $D;
var delta = 0.0;
@d let q@ = $load_qkv(row * $W + h * $D, @);
@d let do@ = $load_dout(out_at, @);
@d delta += dot(do@, $load_out(out_at, @));
@d var dq@ = vec4f(0.0);
let lse = $lse[(b * $H + h) * $T + min(i, $T - 1)];
let end = select($T, min($T, (block + 1) * $BQ), $CAUSAL);
for (var k0 = 0; k0 < end; k0 += $BK) {
  for (var e = i32(lid); e < $BK * $DV; e += $BQ) {
    let at = k_at + min(k0 + e / $DV, $T - 1) * $W;
    $ks[e] = $load_qkv(at, e % $DV);
    $vs[e] = $load_qkv(at + $KV * $D, e % $DV);
  }
  workgroupBarrier();
  for (var j = 0; j < $BK; j++) {
    var s = 0.0;
    var dp = 0.0;
@d    s += dot(q@, $ks[j * $DV + @]);
@d    dp += dot(do@, $vs[j * $DV + @]);
    let p = select(0.0, tg_exp(s * $SCALE - lse), k0 + j < select($T, min($T, i + 1), $CAUSAL));
    let ds = p * (dp - delta) * $SCALE;
@d    dq@ += ds * $ks[j * $DV + @];
  }
  workgroupBarrier();
}
if (i < $T) {
@d  $put_dqkv(row * $W + h * $D, @, dq@);
}
