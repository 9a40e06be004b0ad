// The engine's worker with a GPU that can be taken away: { lose: true } loses the newest device or WebGL context.
const losers = [];
const request = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (descriptor) {
  const device = await request.call(this, descriptor);
  losers.push(() => device.destroy());
  return device;
};
const getContext = OffscreenCanvas.prototype.getContext;
OffscreenCanvas.prototype.getContext = function (...args) {
  const context = getContext.apply(this, args);
  losers.push(() => context.getExtension('WEBGL_lose_context').loseContext());
  return context;
};
const early = [];
const keep = (event) => early.push(event);
addEventListener('message', keep);
await import('/tabgrad/worker.js');
removeEventListener('message', keep);
const answer = onmessage;
onmessage = (event) => (event.data.lose ? losers.at(-1)() : answer(event));
for (const event of early) onmessage(event);
