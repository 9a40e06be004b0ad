// Results of all invocations of a workgroup (of $T, a power of two) together; every one gets them.
fn $total(value: f32, lid: u32) -> f32 {
  $all[lid] = value;
  workgroupBarrier();
  for (var half = u32($T) / 2u; half > 0u; half /= 2u) {
    if (lid < half) { $all[lid] += $all[lid + half]; }
    workgroupBarrier();
  }
  let result = $all[0];
  workgroupBarrier();
  return result;
}
fn $largest(value: f32, lid: u32) -> f32 {
  $all[lid] = value;
  workgroupBarrier();
  for (var half = u32($T) / 2u; half > 0u; half /= 2u) {
    if (lid < half) { $all[lid] = max($all[lid], $all[lid + half]); }
    workgroupBarrier();
  }
  let result = $all[0];
  workgroupBarrier();
  return result;
}
