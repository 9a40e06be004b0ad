// Σ x² of one chunk of a long array.
// body
var sum = $V(0.0);
for (var i = i32(wg) * $EACH + i32(lid); i < min($N, (i32(wg) + 1) * $EACH); i += $T) { sum += $x[i] * $x[i]; }
let all = $total($fold(sum), lid);
if (lid == 0u) { $out[$FIRST + i32(wg)] = all; }
