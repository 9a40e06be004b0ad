// One workgroup a row of x (R,C).
// body
let at = i32(wg) * $C;
var top = -3.0e38;
for (var c = i32(lid); c < $C; c += $T) { top = max(top, $x[at + c]); }
top = $largest(top, lid);
var sum = 0.0;
for (var c = i32(lid); c < $C; c += $T) { sum += tg_exp($x[at + c] - top); }
let scale = 1.0 / $total(sum, lid);
for (var c = i32(lid); c < $C; c += $T) { $y[at + c] = tg_exp($x[at + c] - top) * scale; }
