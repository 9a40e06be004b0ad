// npm run bench:picture -- RESULT.json PICTURE.svg
import { readFileSync, writeFileSync } from 'node:fs';
import { type Curve, kCurveSchema } from '../../../packages/tabgrad/src/bench/curve.ts';
import { curveSvg } from './svg.ts';

const [from, to] = process.argv.slice(2);
if (!from || !to) {
  console.error('usage: npm run bench:picture -- RESULT.json PICTURE.svg');
  process.exit(2);
}
const curve = JSON.parse(readFileSync(from, 'utf8')) as Curve;
if (curve.schema !== kCurveSchema) {
  console.error(`${from}: not a ${kCurveSchema} result but '${curve.schema}'`);
  process.exit(2);
}
writeFileSync(to, curveSvg(curve));
