// Runs a test program that was compiled to WebAssembly in Node: node run.mjs PROGRAM.mjs ARGUMENT…
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [program, ...args] = process.argv.slice(2);
const { default: start } = await import(pathToFileURL(resolve(program)).href);
await start({ arguments: args, print: (line) => console.log(line), printErr: (line) => console.error(line) });
