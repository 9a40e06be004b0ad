// Results of a team of $T invocations together, $T a multiple of $S: a butterfly among $S neighbours, which share a subgroup, then
// through workgroup memory where a team has more (lines of @w). All of a workgroup call. Every invocation adds in the same order.
fn $total(value: f32, lid: u32) -> f32 {
  var sum = value;
@s sum += subgroupShuffleXor(sum, 1u << @u);
@w if (lid % $S == 0u) { $all[lid / $S] = sum; }
@w workgroupBarrier();
@w let first = lid / $T * ($T / $S);
@w sum = $all[first];
@w for (var i = 1u; i < $T / $S; i++) { sum += $all[first + i]; }
@w workgroupBarrier();
  return sum;
}
fn $largest(value: f32, lid: u32) -> f32 {
  var top = value;
@s top = max(top, subgroupShuffleXor(top, 1u << @u));
@w if (lid % $S == 0u) { $all[lid / $S] = top; }
@w workgroupBarrier();
@w let first = lid / $T * ($T / $S);
@w top = $all[first];
@w for (var i = 1u; i < $T / $S; i++) { top = max(top, $all[first + i]); }
@w workgroupBarrier();
  return top;
}
