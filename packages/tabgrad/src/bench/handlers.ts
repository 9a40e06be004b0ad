// The calls "bench.…" of tabgrad's worker.
import type { RuntimeInfo } from '../protocol.ts';
import { UserError, type Engine } from '../wasm/engine.ts';
import { timeDispatches } from './dispatch.ts';
import { ownSide } from './own.ts';
import type { BenchCalls } from './protocol.ts';
import { sideHandlers } from './serve.ts';

const kVersion = '0.1.0';

type Handlers = { [K in keyof BenchCalls]: (args: BenchCalls[K][0]) => Promise<BenchCalls[K][1]> };

/** loaded: the worker's engine and what it found; throws while there is none. */
export function benchHandlers(loaded: () => { engine: Engine; info: RuntimeInfo }): Handlers {
  const side = sideHandlers((backend) => {
    const { engine, info } = loaded();
    return Promise.resolve(ownSide(engine, info, kVersion, backend));
  });
  const request = async <K extends keyof BenchCalls>(call: K, args: BenchCalls[K][0]) =>
    (await loaded().engine.request(call, args)) as BenchCalls[K][1];
  return {
    'bench.load': side.load,
    'bench.prepare': side.prepare,
    'bench.turn': side.turn,
    'bench.gradients': side.gradients,
    'bench.peak': side.peak,
    'bench.free': side.free,
    'bench.fit': (args) => request('bench.fit', args),
    'bench.calibrate': (args) => request('bench.calibrate', args),
    'bench.predict': (args) => request('bench.predict', args),
    'bench.foretell': (args) => request('bench.foretell', args),
    'bench.replay': (args) => request('bench.replay', args),
    'bench.ablation': ({ preset, ...args }) => request('bench.ablation', { ...args, ...preset } as never),
    'bench.dispatch': ({ repeats, rounds }) => {
      if (!navigator.gpu) throw new UserError('This browser has no WebGPU.');
      return timeDispatches(repeats, rounds);
    },
  };
}
