// The products that are compared: cubes, and one dense layer's three products for each preset's two widths (as bench/kernels.cc).
import type { Form, Job, MatmulShape, Preset } from '../../../packages/tabgrad/src/bench/jobs.ts';

const kForms: Form[] = ['nn', 'nt', 'tn'];
const kCubes = [256, 512, 1024, 2048];

export function matmulJobs(presets: Preset[]): Job[] {
  const shapes: MatmulShape[] = kCubes.flatMap((size) => kForms.map((form) => ({ form, m: size, n: size, k: size })));
  for (const { width: d, context, batch } of presets) {
    const rows = context * batch;
    for (const wide of [3 * d, 4 * d])
      shapes.push(
        { form: 'nn', m: rows, n: wide, k: d }, // forward
        { form: 'nt', m: rows, n: d, k: wide }, // dX = dY·Wᵀ
        { form: 'tn', m: d, n: wide, k: rows }, // dW = Xᵀ·dY
      );
  }
  const seen = new Set<string>();
  return shapes
    .filter((shape) => {
      const key = Object.values(shape).join();
      return !seen.has(key) && seen.add(key);
    })
    .map((shape) => ({ bench: 'matmul', shape }));
}
