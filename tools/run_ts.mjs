// node tools/run_ts.mjs FILE.ts [ARGUMENT...]: runs a TypeScript program through Vite, since Debian's node cannot strip types.
import { runnerImport } from 'vite';

const [file] = process.argv.splice(2, 1);
process.argv[1] = file;
await runnerImport(file, { configFile: false, logLevel: 'error' });
