// The gradients of keys and values: each invocation owns one key, and walks the queries of all heads that read it.
var<workgroup> $qs: array<vec4f, $BK * $DV>;
var<workgroup> $dos: array<vec4f, $BK * $DV>;
var<workgroup> $lses: array<f32, $BK>;
var<workgroup> $deltas: array<f32, $BK>;
// body
let blocks = ($T + $BQ - 1) / $BQ;
let block = i32(wg) % blocks;
let g = i32(wg) / blocks % $KV;
let b = i32(wg) / blocks / $KV;
let j = block * $BQ + i32(lid);
let k_at = (b * $T + min(j, $T - 1)) * $W + ($H + g) * $D;
@d let k@ = $load_qkv(k_at, @);
@d let v@ = $load_qkv(k_at + $KV * $D, @);
@d var dk@ = vec4f(0.0);
@d var dv@ = vec4f(0.0);
for (var h = g * $G; h < (g + 1) * $G; h++) {
  for (var i0 = select(0, block * $BQ / $BK * $BK, $CAUSAL); i0 < $T; i0 += $BK) {
    for (var e = i32(lid); e < $BK * $DV; e += $BQ) {
      let row = b * $T + min(i0 + e / $DV, $T - 1);
      $qs[e] = $load_qkv(row * $W + h * $D, e % $DV);
      $dos[e] = $load_dout(row * $H * $D + h * $D, e % $DV);
    }
    if (i32(lid) < $BK) {
      let i = min(i0 + i32(lid), $T - 1);
      let at = (b * $T + i) * $H * $D + h * $D;
      var delta = 0.0;
      for (var d = 0; d < $DV; d++) { delta += dot($load_dout(at, d), $load_out(at, d)); }
      $deltas[lid] = delta;
      $lses[lid] = $lse[(b * $H + h) * $T + i];
    }
    workgroupBarrier();
    for (var r = 0; r < $BK; r++) {
      var s = 0.0;
      var dp = 0.0;
@d      s += dot(k@, $qs[r * $DV + @]);
@d      dp += dot(v@, $dos[r * $DV + @]);
      let i = i0 + r;
      let p = select(0.0, tg_exp(s * $SCALE - $lses[r]), i < $T && (!$CAUSAL || j <= i));
      let ds = p * (dp - $deltas[r]) * $SCALE;
@d      dk@ += ds * $qs[r * $DV + @];
@d      dv@ += p * $dos[r * $DV + @];
    }
    workgroupBarrier();
  }
}
if (j < $T) {
@d  $put_dqkv(k_at, @, dk@);
@d  $put_dqkv(k_at + $KV * $D, @, dv@);
}
