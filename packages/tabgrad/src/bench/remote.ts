// A worker of tabgrad's as a side of a benchmark.
import { createEngine, type Engine } from '../client.ts';
import type { CallName, Calls } from '../protocol.ts';
import type { BuildName } from '../wasm/features.ts';
import type { RemoteSide } from './turns.ts';

export interface OwnRemote extends RemoteSide {
  engine: Engine;
}

/** backend: 'wasm' for the build that the package would choose here, 'wasm-threads', 'wasm-relaxed', 'wasm-single', 'webgpu', 'webgl'. */
export function ownRemote(id: string, backend: string, worker?: Worker): OwnRemote {
  const engine = createEngine(worker);
  const gpu = backend === 'webgpu' || backend === 'webgl';
  // On a GPU the engine only hands calls on, for which threads are of no use.
  const build = gpu ? 'single' : (backend.split('-')[1] as BuildName | undefined);
  let started: Promise<unknown> | null = null;
  return {
    id,
    engine,
    async call(call, args) {
      started ??= engine.call('init', { threads: 0, autosaveSeconds: 3600, ...(build && { build }) });
      await started;
      const sent = call === 'load' ? { backend: gpu ? backend : 'wasm' } : args;
      const name = `bench.${call}` as CallName;
      return (await engine.call(name, sent as Calls[typeof name][0])) as never;
    },
    end: () => engine.terminate(),
  };
}
