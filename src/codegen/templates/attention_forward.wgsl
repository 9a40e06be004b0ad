// Each invocation owns one query; keys and values pass through workgroup memory, a tile at a time, four keys a round. Softmax
// goes along (Milakov & Gimelshein 2018): scores are never stored. Lines of @d stand once for each four of a head's numbers.
var<workgroup> $ks: array<vec4f, $BK * $DV>;
var<workgroup> $vs: array<vec4f, $BK * $DV>;
// body
let blocks = ($T + $BQ - 1) / $BQ;
let block = i32(wg) % blocks;
let h = i32(wg) / blocks % $H;
let b = i32(wg) / blocks / $H;
let i = block * $BQ + i32(lid);
let q_at = (b * $T + min(i, $T - 1)) * $W + h * $D;
let k_at = b * $T * $W + ($H + h / $G) * $D;
@d let q@ = $load_qkv(q_at, @) * $SCALE;
@d var acc@ = vec4f(0.0);
var top = -1.0e30;
var sum = 0.0;
let end = select($T, min($T, (block + 1) * $BQ), $CAUSAL);
for (var k0 = 0; k0 < end; k0 += $BK) {
  for (var e = i32(lid); e < $BK * $DV; e += $BQ) {
    let at = k_at + min(k0 + e / $DV, $T - 1) * $W;
    $ks[e] = $load_qkv(at, e % $DV);
    $vs[e] = $load_qkv(at + $KV * $D, e % $DV);
  }
  workgroupBarrier();
  for (var j = 0; j < $BK; j += 4) {
    var s = vec4f(0.0);
@d    s += vec4f(dot(q@, $ks[j * $DV + @]), dot(q@, $ks[(j + 1) * $DV + @]), dot(q@, $ks[(j + 2) * $DV + @]), dot(q@, $ks[(j + 3) * $DV + @]));
    let key = vec4i(k0 + j) + vec4i(0, 1, 2, 3);
    // Key 0 is seen by all, so that top is a true score from the first round on.
    s = select(vec4f(-1.0e30), s, key < vec4i(select($T, min($T, i + 1), $CAUSAL)));
    let higher = max(top, max(max(s.x, s.y), max(s.z, s.w)));
    let fade = tg_exp(top - higher);
    let p = tg_exp4(s - higher);
    top = higher;
    sum = sum * fade + ((p.x + p.y) + (p.z + p.w));
@d    acc@ = acc@ * fade + (p.x * $vs[j * $DV + @] + p.y * $vs[(j + 1) * $DV + @]) + (p.z * $vs[(j + 2) * $DV + @] + p.w * $vs[(j + 3) * $DV + @]);
  }
  workgroupBarrier();
}
if (i < $T) {
  let scale = 1.0 / sum;
@d  $put_out((b * $T + i) * $H * $D + h * $D, @, acc@ * scale);
  $lse[(b * $H + h) * $T + i] = top + tg_log(sum);
}
