import * as tg from '/runtime/bundle.js';
globalThis.tg = tg;
