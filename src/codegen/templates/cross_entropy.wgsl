// nll = lse − x[target], lse = log Σ exp x; a team of $T invocations a row. A target outside of the row gives 0.
// body
let lane = i32(lid) % $T;
let row = i32(wg) * $ROWS + i32(lid) / $T;
let at = min(row, $R - 1) * $U;
@l let c@ = lane + @ * $T;
@l var x@ = $V(-3.0e38); if (c@ < $U) { x@ = $x[at + c@]; }
var top = -3.0e38;
@d top = max(top, $most(x@));
top = $largest(top, lid);
var sum = 0.0;
@d sum += $fold(#exp(x@ - top));
sum = $total(sum, lid);
if (row < $R && lane == 0) {
  let lse = top + tg_log(sum);
  let target_id = $target_ids[row];
  $lse[row] = lse;
  var nll = 0.0;
  if (target_id >= 0 && target_id < $C) { nll = lse - $x#one; }
  $nll[row] = nll;
}
