// dx = y ⊙ (dy − Σ y·dy), one workgroup a row.
// body
let at = i32(wg) * $C;
var dot = 0.0;
for (var c = i32(lid); c < $C; c += $T) { dot += $y[at + c] * $dy[at + c]; }
dot = $total(dot, lid);
for (var c = i32(lid); c < $C; c += $T) { $dx[at + c] = $y[at + c] * ($dy[at + c] - dot); }
