// Results of a team of $T invocations together (neighbours, a multiple of 4); every one of them gets them. All of a workgroup call.
fn $total(value: f32, lid: u32) -> f32 {
  $all[lid / 4u][lid % 4u] = value;
  workgroupBarrier();
  let first = lid / $T * ($T / 4);
  var sum = $all[first];
  for (var i = 1u; i < $T / 4; i++) { sum += $all[first + i]; }
  workgroupBarrier();
  return (sum.x + sum.y) + (sum.z + sum.w);
}
fn $largest(value: f32, lid: u32) -> f32 {
  $all[lid / 4u][lid % 4u] = value;
  workgroupBarrier();
  let first = lid / $T * ($T / 4);
  var top = $all[first];
  for (var i = 1u; i < $T / 4; i++) { top = max(top, $all[first + i]); }
  workgroupBarrier();
  return max(max(top.x, top.y), max(top.z, top.w));
}
