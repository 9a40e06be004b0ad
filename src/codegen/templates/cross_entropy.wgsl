// nll = lse − x[target], lse = log Σ exp x; one workgroup a row. A target outside of the row gives 0.
// body
let row = i32(wg);
let at = row * $C;
var top = -3.0e38;
for (var c = i32(lid); c < $C; c += $T) { top = max(top, $x[at + c]); }
top = $largest(top, lid);
var sum = 0.0;
for (var c = i32(lid); c < $C; c += $T) { sum += tg_exp($x[at + c] - top); }
sum = $total(sum, lid);
if (lid == 0u) {
  let lse = top + tg_log(sum);
  let target_id = $target_ids[row];
  $lse[row] = lse;
  var nll = 0.0;
  if (target_id >= 0 && target_id < $C) { nll = lse - $x[at + target_id]; }
  $nll[row] = nll;
}
