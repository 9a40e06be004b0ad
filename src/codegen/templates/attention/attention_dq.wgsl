// The gradient of 32 queries: weights are computed again from lse; teams walk parts of the keys, as forward.
// body
let blocks = ($T + 31) / 32;
let block = i32(wg) % blocks;
let h = i32(wg) / blocks % $H;
let b = i32(wg) / blocks / $H;
let me = i32(lid) % 32;
let team = i32(lid) / 32;
let i = block * 32 + me;
let row = b * $T + min(i, $T - 1);
let k_at = b * $T * $W + ($H + h / $G) * $D;
let out_at = row * $H * $D + h * $D;
var delta = 0.0;
@d let q@ = $load_qkv(row * $W + h * $D, @);
@d let do@ = $load_dout(out_at, @);
@d delta += dot(do@, $load_out(out_at, @));
@d var dq@ = vec4f(0.0);
let lse = $lse[(b * $H + h) * $T + min(i, $T - 1)];
let end = select($T, min($T, (block + 1) * 32), $CAUSAL);
@e let e@ = i32(lid) + @ * 32 * $S;
@e var key@ = $load_qkv(k_at + min(e@ / $DV, $T - 1) * $W, e@ % $DV);
@e var value@ = $load_qkv(k_at + min(e@ / $DV, $T - 1) * $W + $KV * $D, e@ % $DV);
for (var k0 = 0; k0 < end; k0 += $BK) {
@e  if (e@ < $BK * $DV) { $tile_a[e@] = key@; $tile_b[e@] = value@; }
  workgroupBarrier();
@e  let at@ = k_at + min(k0 + $BK + e@ / $DV, $T - 1) * $W;
@e  key@ = $load_qkv(at@, e@ % $DV);
@e  value@ = $load_qkv(at@ + $KV * $D, e@ % $DV);
  for (var j = team * $OWN; j < (team + 1) * $OWN; j++) {
    var s = 0.0;
    var dp = 0.0;
@d    s += dot(q@, $tile_a[j * $DV + @]);
@d    dp += dot(do@, $tile_b[j * $DV + @]);
    let p = select(0.0, tg_exp(s * $SCALE - lse), k0 + j < select($T, min($T, i + 1), $CAUSAL));
    let ds = p * (dp - delta) * $SCALE;
@d    dq@ += ds * $tile_a[j * $DV + @];
  }
  workgroupBarrier();
}
