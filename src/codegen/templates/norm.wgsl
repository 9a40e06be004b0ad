// Layer norm of x (R,C), or RMS norm, without mean and beta; a team of $T invocations a row. Lines of @d stand once for each of the
// row's units (numbers, or fours of them) that an invocation has.
// body
let lane = i32(lid) % $T;
let row = i32(wg) * $ROWS + i32(lid) / $T;
let live = row < $R;
@l let c@ = lane + @ * $T;
@l var x@ = $V(0.0);
@l if (live && c@ < $U) { x@ = $load_row(row, c@); }
var mean = 0.0;
if ($LAYER) {
  var sum = 0.0;
@d  sum += $fold(x@);
  mean = $total(sum, lid) / f32($C);
}
var squares = 0.0;
@d if (c@ < $U) { squares += $fold((x@ - mean) * (x@ - mean)); }
let rstd = 1.0 / sqrt($total(squares, lid) / f32($C) + $EPS);
@d if (live && c@ < $U) { $y[row * $U + c@] = (x@ - mean) * rstd * $gamma[c@]#beta; }
if (live && lane == 0) {
  $rstd_out[row] = rstd;#mean
}
