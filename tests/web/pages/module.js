// Runs the Emscripten ES module named by ?module=URL with the arguments ?arg=…&arg=… in a worker, as pages of the project do.
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
worker.postMessage({ module: new URL(query.get('module'), location.href).href, args: query.getAll('arg') });
