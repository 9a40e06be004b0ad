// Layer norm of x (R,C), or RMS norm, without mean and beta; one workgroup a row.
// body
let row = i32(wg);
let at = row * $C;
var mean = 0.0;
if ($LAYER) {
  var sum = 0.0;
  for (var c = i32(lid); c < $C; c += $T) { sum += $x[at + c]; }
  mean = $total(sum, lid) / f32($C);
}
var squares = 0.0;
for (var c = i32(lid); c < $C; c += $T) {
  let d = $x[at + c] - mean;
  squares += d * d;
}
let rstd = 1.0 / sqrt($total(squares, lid) / f32($C) + $EPS);
for (var c = i32(lid); c < $C; c += $T) { $y[at + c] = ($x[at + c] - mean) * rstd * $gamma[c]@beta; }
if (lid == 0u) {
  $rstd_out[row] = rstd;@mean
}
