// dx of the rows of a chunk, each team one after another; each invocation sums dgamma and dbeta of its columns on the way, the teams'
// are added up and left at partial (2, CHUNKS, C) for later. Lines of @d as in norm.wgsl.
// body
let lane = i32(lid) % $T;
let team = i32(lid) / $T;
@d let c@ = lane + @ * $T;
@d var gamma@ = $V(0.0);
@d if (c@ < $U) { gamma@ = $gamma[c@]; }
@d var dgamma@ = $V(0.0);
@d var dbeta@ = $V(0.0);
for (var i = 0; i < $EACH; i++) {
  let row = (i32(wg) * $EACH + i) * $ROWS + team;
  let live = row < $R;
  let mean = #mean;
  let rstd = $rstd[min(row, $R - 1)];
@d  var dy@ = $V(0.0);
@d  var xhat@ = $V(0.0);
@d  if (live && c@ < $U) { dy@ = $load_row(row, c@); xhat@ = ($x[row * $U + c@] - mean) * rstd; }
  var sum = 0.0;
  var product = 0.0;
@d  dgamma@ += dy@ * xhat@; dbeta@ += dy@; dy@ *= gamma@;
@d  sum += $fold(dy@); product += $fold(dy@ * xhat@);
  if ($LAYER) { sum = $total(sum, lid) / f32($C); } else { sum = 0.0; }
  product = $total(product, lid) / f32($C);
@d  if (live && c@ < $U) { $store_row(row, c@, rstd * (dy@ - sum - xhat@ * product)); }
}
