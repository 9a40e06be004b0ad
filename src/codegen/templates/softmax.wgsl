// Of each row of x (R,C), by a team of $T invocations.
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
let scale = 1.0 / $total(sum, lid);
@d if (row < $R && c@ < $U) { $y[at + c@] = #exp(x@ - top) * scale; }
