// The engine's worker with a GPU that can be taken away: { lose: true } destroys the newest device.
const devices = [];
const request = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (descriptor) {
  const device = await request.call(this, descriptor);
  devices.push(device);
  return device;
};
const early = [];
const keep = (event) => early.push(event);
addEventListener('message', keep);
await import('/tabgrad/worker.js');
removeEventListener('message', keep);
const answer = onmessage;
onmessage = (event) => (event.data.lose ? devices.at(-1).destroy() : answer(event));
for (const event of early) onmessage(event);
