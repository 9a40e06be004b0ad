// Makes a module of dist/ self-contained, for pages without a bundler and for workers, which know no import maps. Addresses
// of the form new URL('./file', import.meta.url) stay as they are.
import { rolldown } from 'rolldown';

/** minify: for what a page loads by itself; names of exports stay. */
export async function bundle(input, file, { minify = false } = {}) {
  const build = await rolldown({ input, platform: 'browser', treeshake: true });
  await build.write({ file, format: 'es', minify, codeSplitting: false });
  await build.close();
}
