// dx = y ⊙ (dy − Σ y·dy), a team of $T invocations a row.
// body
let lane = i32(lid) % $T;
let row = i32(wg) * $ROWS + i32(lid) / $T;
let at = min(row, $R - 1) * $U;
@l let c@ = lane + @ * $T;
@l var y@ = $V(0.0); var dy@ = $V(0.0); if (c@ < $U) { y@ = $y[at + c@]; dy@ = $dy[at + c@]; }
var dot = 0.0;
@d dot += $fold(y@ * dy@);
dot = $total(dot, lid);
@d if (row < $R && c@ < $U) { $dx[at + c@] = y@ * (dy@ - dot); }
