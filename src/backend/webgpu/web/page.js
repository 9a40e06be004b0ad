// web_backend.cc's functions, for Emscripten's linker: each calls the module's option `page`, a Page of
// packages/tabgrad/src/wasm/page.ts, with the engine's memory.
//
// Those that suspend are made by the browser's WebAssembly.Suspending and not by Emscripten's -sJSPI, whose modules do not
// load in browsers without it. Where it is missing they are never called: tg_page_load fails first.

addToLibrary({
  $tgSuspending__deps: [],
  $tgSuspending: (f) => (WebAssembly.Suspending ? new WebAssembly.Suspending(f) : () => -1),

  tg_page_feature__deps: ['$tgSuspending'],
  tg_page_feature: "=tgSuspending((which) => Module['page']?.feature(which) ?? -1)",
  tg_page_load__deps: ['$tgSuspending'],
  tg_page_load: "=tgSuspending((at, bytes) => Module['page']?.load(wasmMemory, at, bytes) ?? -1)",
  tg_page_run__deps: ['$tgSuspending'],
  tg_page_run: "=tgSuspending((runner, entry) => Module['page'].run(runner, entry))",
  tg_page_read__deps: ['$tgSuspending'],
  tg_page_read: "=tgSuspending((runner, buffer, ago, at) => Module['page'].read(wasmMemory, runner, buffer, ago, at))",

  tg_page_runs_in_flight: (runner) => Module['page'].runsInFlight(runner),
  tg_page_write: (runner, buffer, at) => Module['page'].write(wasmMemory, runner, buffer, at),
  tg_page_set_uniform: (runner, uniform, value) => Module['page'].setUniform(runner, uniform, value),
  tg_page_set_random: (runner, low, high, step) => Module['page'].setRandom(runner, low, high, step),
  tg_page_webgl_limits: (at) => Module['page']?.webGlLimits(wasmMemory, at) ?? 0,
  tg_page_text: (runner, at, capacity) => Module['page']?.text(wasmMemory, runner, at, capacity) ?? 0,
  tg_page_free: (runner) => Module['page'].free(runner),
});
