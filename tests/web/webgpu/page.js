import * as tg from '/tabgrad/runtime.js';
globalThis.tg = tg;
