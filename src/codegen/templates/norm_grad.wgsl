// dx of rows first … last of a chunk, one after another; each invocation sums dgamma and dbeta of its columns on the way, and leaves
// them at partial (CHUNKS, 2, C) for a second launch.
// body
let first = i32(wg) * $EACH;
let last = min($R, first + $EACH);
var dgamma: array<f32, $OWN>;
var dbeta: array<f32, $OWN>;
for (var row = first; row < last; row++) {
  let at = row * $C;
  let mean = @mean;
  let rstd = $rstd[row];
  var sum = 0.0;
  var dot = 0.0;
  for (var i = 0; i < $OWN; i++) {
    let c = i32(lid) + i * $T;
    if (c < $C) {
      let dy = $dy[at + c];
      let xhat = ($x[at + c] - mean) * rstd;
      sum += dy * $gamma[c];
      dot += dy * $gamma[c] * xhat;
      dgamma[i] += dy * xhat;
      dbeta[i] += dy;
    }
  }
  if ($LAYER) { sum = $total(sum, lid) / f32($C); } else { sum = 0.0; }
  dot = $total(dot, lid) / f32($C);
  for (var i = 0; i < $OWN; i++) {
    let c = i32(lid) + i * $T;
    if (c < $C) {
      let xhat = ($x[at + c] - mean) * rstd;
      $dx[at + c] = rstd * ($dy[at + c] * $gamma[c] - sum - xhat * dot);
    }
  }
}
for (var i = 0; i < $OWN; i++) {
  let c = i32(lid) + i * $T;
  if (c < $C) {
    $partial[i32(wg) * $C + c] = dgamma[i];
    if ($LAYER) { $partial[($CHUNKS + i32(wg)) * $C + c] = dbeta[i]; }
  }
}
