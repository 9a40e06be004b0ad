// The gradients of 32 keys and values: teams walk parts of the queries of all heads that read them.
// body
let blocks = ($T + 31) / 32;
let block = i32(wg) % blocks;
let g = i32(wg) / blocks % $KV;
let b = i32(wg) / blocks / $KV;
let me = i32(lid) % 32;
let team = i32(lid) / 32;
let j = block * 32 + me;
let k_at = (b * $T + min(j, $T - 1)) * $W + ($H + g) * $D;
@d let k@ = $load_qkv(k_at, @);
@d let v@ = $load_qkv(k_at + $KV * $D, @);
@d var dk@ = vec4f(0.0);
@d var dv@ = vec4f(0.0);
for (var h = g * $G; h < (g + 1) * $G; h++) {
  for (var i0 = select(0, block * 32, $CAUSAL); i0 < $T; i0 += $BK) {
    for (var e = i32(lid); e < $BK * $DV; e += 32 * $S) {
      let row = b * $T + min(i0 + e / $DV, $T - 1);
      $tile_a[e] = $load_qkv(row * $W + h * $D, e % $DV);
      $tile_b[e] = $load_dout(row * $H * $D + h * $D, e % $DV);
    }
    if (i32(lid) < $BK) {
      let i = min(i0 + i32(lid), $T - 1);
      let at = (b * $T + i) * $H * $D + h * $D;
      var delta = 0.0;
      for (var d = 0; d < $DV; d++) { delta += dot($load_dout(at, d), $load_out(at, d)); }
      $sums[lid] = delta;
      $tops[lid] = $lse[(b * $H + h) * $T + i];
    }
    workgroupBarrier();
    for (var r = team * $OWN; r < (team + 1) * $OWN; r++) {
      var s = 0.0;
      var dp = 0.0;
@d      s += dot(k@, $tile_a[r * $DV + @]);
@d      dp += dot(v@, $tile_b[r * $DV + @]);
      let i = i0 + r;
      let p = select(0.0, tg_exp(s * $SCALE - $tops[r]), i < $T && (!$CAUSAL || j <= i));
      let ds = p * (dp - $sums[r]) * $SCALE;
@d      dk@ += ds * $tile_a[r * $DV + @];
@d      dv@ += p * $tile_b[r * $DV + @];
    }
    workgroupBarrier();
  }
}
@d $add[lid] = dk@; workgroupBarrier(); if (team == 0 && j < $T) { var v = $add[me]; for (var t = 1; t < $S; t++) { v += $add[me + 32 * t]; } $put_dqkv(k_at, @, v); } workgroupBarrier();
@d $add[lid] = dv@; workgroupBarrier(); if (team == 0 && j < $T) { var v = $add[me]; for (var t = 1; t < $S; t++) { v += $add[me + 32 * t]; } $put_dqkv(k_at + $KV * $D, @, v); } workgroupBarrier();
