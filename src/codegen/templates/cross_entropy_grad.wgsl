// dx = (softmax x − onehot)·dnll, an element, or four, an invocation.
// body
let e = i32(wg) * 128 + i32(lid);
if (e < $R * $U) {
  let row = e / $U;
  let target_id = $target_ids[row];
  var dx = $V(0.0);
  if (target_id >= 0 && target_id < $C) {
    let hit = #columns == #target;
    dx = (#exp($x[e] - $lse[row]) - select($V(0.0), $V(1.0), hit)) * $dnll[row];
  }
  $dx[e] = dx;
}
