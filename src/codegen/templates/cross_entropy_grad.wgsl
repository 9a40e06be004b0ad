// dx = (softmax x − onehot)·dnll, an element an invocation.
// body
let e = i32(wg) * 128 + i32(lid);
if (e < $R * $C) {
  let row = e / $C;
  let target_id = $target_ids[row];
  var dx = 0.0;
  if (target_id >= 0 && target_id < $C) {
    dx = (tg_exp($x[e] - $lse[row]) - select(0.0, 1.0, e % $C == target_id)) * $dnll[row];
  }
  $dx[e] = dx;
}
