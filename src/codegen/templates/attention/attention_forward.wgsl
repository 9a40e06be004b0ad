// A workgroup owns 32 queries; each of its $S teams of 32 invocations walks a part of the keys, which pass through workgroup memory
// a tile at a time, four a round. Softmax goes along (Milakov & Gimelshein 2018): scores are never stored. In the end the teams'
// results are added up. Lines of @d stand once for each four of a head's numbers, lines of @e for each of an invocation's vectors of a
// tile, which it requests while the tile before is in use.
// body
let blocks = ($T + 31) / 32;
let block = i32(wg) % blocks;
let h = i32(wg) / blocks % $H;
let b = i32(wg) / blocks / $H;
let me = i32(lid) % 32;
let team = i32(lid) / 32;
let i = block * 32 + me;
let q_at = (b * $T + min(i, $T - 1)) * $W + h * $D;
let k_at = b * $T * $W + ($H + h / $G) * $D;
@d let q@ = $load_qkv(q_at, @) * $SCALE;
@d var acc@ = vec4f(0.0);
var top = -1.0e30;
var sum = 0.0;
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
  for (var j = team * $OWN; j < (team + 1) * $OWN; j += 4) {
    var s = vec4f(0.0);
@d    s += vec4f(dot(q@, $tile_a[j * $DV + @]), dot(q@, $tile_a[(j + 1) * $DV + @]), dot(q@, $tile_a[(j + 2) * $DV + @]), dot(q@, $tile_a[(j + 3) * $DV + @]));
    let key = vec4i(k0 + j) + vec4i(0, 1, 2, 3);
    // A team that has met masked keys only has this mask as its top, and no weight in the end.
    s = select(vec4f(-1.0e30), s, key < vec4i(select($T, min($T, i + 1), $CAUSAL)));
    let higher = max(top, max(max(s.x, s.y), max(s.z, s.w)));
    let fade = tg_exp(top - higher);
    let p = tg_exp4(s - higher);
    top = higher;
    sum = sum * fade + ((p.x + p.y) + (p.z + p.w));
@d    acc@ = acc@ * fade + (p.x * $tile_b[j * $DV + @] + p.y * $tile_b[(j + 1) * $DV + @]) + (p.z * $tile_b[(j + 2) * $DV + @] + p.w * $tile_b[(j + 3) * $DV + @]);
  }
  workgroupBarrier();
}
$tops[lid] = top;
workgroupBarrier();
var highest = $tops[me];
for (var t = 1; t < $S; t++) { highest = max(highest, $tops[me + 32 * t]); }
let weight = tg_exp(top - highest);
$sums[lid] = sum * weight;
workgroupBarrier();
sum = $sums[me];
for (var t = 1; t < $S; t++) { sum += $sums[me + 32 * t]; }
let scale = 1.0 / sum;
if (team == 0 && i < $T) { $lse[(b * $H + h) * $T + i] = highest + tg_log(sum); }
