import { beforeEach, expect, test } from 'vitest';
import { createEngine, type Engine } from '../src/client.ts';
import type { Event, FromWorker, Request } from '../src/protocol.ts';

class FakeWorker {
  sent: Request[] = [];
  ended = false;
  onmessage!: (event: { data: FromWorker }) => void;
  onerror!: (event: { message: string; preventDefault(): void }) => void;
  postMessage(request: Request): void {
    this.sent.push(request);
  }
  terminate(): void {
    this.ended = true;
  }
}

let worker: FakeWorker;
let engine: Engine;
beforeEach(() => {
  worker = new FakeWorker();
  engine = createEngine(worker as unknown as Worker);
});

test('replies find their calls in any order', async () => {
  const defaults = engine.call('defaults', { kind: 'lstm' });
  const runs = engine.call('runs', {});
  const [first, second] = worker.sent as [Request, Request];
  worker.onmessage({ data: { id: second.id, ok: true, value: [] } });
  worker.onmessage({ data: { id: first.id, ok: false, error: 'no such model' } });
  await expect(runs).resolves.toEqual([]);
  await expect(defaults).rejects.toThrow('no such model');
});

test('events reach their listeners until these are taken off', () => {
  const seen: Event[] = [];
  const off = engine.on('event', (event) => seen.push(event));
  const event: Event = { event: 'notice', text: 'storage is full' };
  worker.onmessage({ data: event });
  off();
  worker.onmessage({ data: event });
  expect(seen).toEqual([event]);
});

test('a worker that dies rejects what was asked and what is asked later, and says so once', async () => {
  const crashes: string[] = [];
  engine.on('crash', (error) => crashes.push(error));
  const call = engine.call('memory', {});
  const event = { message: 'out of memory', preventDefault() {} };
  worker.onerror(event);
  worker.onerror(event);
  await expect(call).rejects.toThrow('out of memory');
  await expect(engine.call('memory', {})).rejects.toThrow('out of memory');
  expect(crashes).toHaveLength(1);
  expect(worker.ended).toBe(true);
});

test('terminate ends the worker without a crash', async () => {
  const crashes: string[] = [];
  engine.on('crash', (error) => crashes.push(error));
  engine.terminate();
  await expect(engine.call('runs', {})).rejects.toThrow('ended');
  expect(crashes).toEqual([]);
});
