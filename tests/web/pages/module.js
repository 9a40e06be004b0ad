// Runs the Emscripten ES module named by ?module=URL with the arguments ?arg=…&arg=… in a worker, as pages of the project do.
// ?options=URL: an ES module whose default export gives more options of the module.
// Its output goes to the console; { exit, lines, isolated } goes back to the test.
const query = new URL(location.href).searchParams;
const worker = new Worker(new URL('module_worker.js', import.meta.url), { type: 'module' });
const lines = [];
const finish = (exit) =>
  fetch('/__result', { method: 'POST', body: JSON.stringify({ exit, lines, isolated: crossOriginIsolated }) });
worker.onmessage = ({ data }) => {
  if ('exit' in data) return void finish(data.exit);
  lines.push(data.line);
  console.log(data.line);
};
worker.onerror = (event) => {
  lines.push(`error: ${event.message} (${event.filename}:${event.lineno})`);
  void finish(-1);
};
const address = (name) => query.get(name) && new URL(query.get(name), location.href).href;
worker.postMessage({ module: address('module'), options: address('options'), args: query.getAll('arg') });
