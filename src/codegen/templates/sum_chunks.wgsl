// Σ x by one workgroup; what is done with the sum follows, and the closing brace.
// body
var own = 0.0;
for (var i = i32(lid); i < $N; i += $T) { own += $x[i]; }
let sum = $total(own, lid);
if (lid == 0u) {
