// The gradients of 32 keys and values: teams walk parts of the queries of all heads that read them. A tile's numbers are requested
// while the tile before is in use; delta = dout·out of a query comes from four invocations, as a vector. Lines of @d and @e as
// forward, lines of @q for each of an invocation's vectors of delta.
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
@e let e@ = i32(lid) + @ * 32 * $S;
@e var query@ = vec4f(0.0);
@e var dout@ = vec4f(0.0);
var delta = 0.0;
var lse = 0.0;
let begin = select(0, block * 32, $CAUSAL);
let tiles = ($T - begin + $BK - 1) / $BK;
for (var step = -1; step < $G * tiles; step++) {
  if (step >= 0) {
@e    if (e@ < $BK * $DV) { $tile_a[e@] = query@; $tile_b[e@] = dout@; }
    if (i32(lid) < $BK * 4) { $deltas[lid / 4u][lid % 4u] = delta; }
    if (i32(lid) < $BK * 4 && lid % 4u == 0u) { $tops[lid / 4u] = lse; }
  }
  workgroupBarrier();
  let next = min(step + 1, $G * tiles - 1);
  let h = g * $G + next / tiles;
  let i_next = begin + next % tiles * $BK;
@e  let row@ = b * $T + min(i_next + e@ / $DV, $T - 1);
@e  query@ = $load_qkv(row@ * $W + h * $D, e@ % $DV);
@e  dout@ = $load_dout((row@ * $H + h) * $D, e@ % $DV);
  let mine = min(i_next + i32(lid) / 4 % $BK, $T - 1);
  let at = ((b * $T + mine) * $H + h) * $D;
  let part = i32(lid) % 4;
  delta = 0.0;
@q  if (part + 4 * @ < $DV) { delta += dot($load_dout(at, part + 4 * @), $load_out(at, part + 4 * @)); }
  lse = $lse[(b * $H + h) * $T + mine];
  if (step >= 0) {
    let i0 = begin + step % tiles * $BK;
    for (var r = team * $OWN; r < (team + 1) * $OWN; r++) {
      var s = 0.0;
      var dp = 0.0;
@d      s += dot(k@, $tile_a[r * $DV + @]);
@d      dp += dot(v@, $tile_b[r * $DV + @]);
      let i = i0 + r;
      let p = select(0.0, tg_exp(s * $SCALE - $tops[r]), i < $T && (!$CAUSAL || j <= i));
      let ds = p * (dp - dot($deltas[r], vec4f(1.0))) * $SCALE;
@d      dk@ += ds * $tile_a[r * $DV + @];
@d      dv@ += p * $tile_b[r * $DV + @];
    }
  }
  workgroupBarrier();
}
