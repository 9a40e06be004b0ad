// tabgrad for web pages: an engine in a worker that trains while the page stays free.

export { createEngine, type Engine } from './client.ts';
export type { Cost } from './bench/protocol.ts';
export type * from './lm/protocol.ts';
export type * from './protocol.ts';
