// The worker's end of a peer's side: answers the page's calls (packages/tabgrad/src/bench/protocol.ts).
import { sideHandlers } from '../../packages/tabgrad/src/bench/serve.ts';
import type { LoadSide } from '../../packages/tabgrad/src/bench/side.ts';
import type { Answer, Request } from './messages.ts';

export function serveSide(load: LoadSide): void {
  const handlers = sideHandlers(load);
  addEventListener('message', ({ data: { id, call, args } }: MessageEvent<Request>) => {
    const run = handlers[call] as (args: unknown) => Promise<unknown>;
    run(args).then(
      (value) => postMessage({ id, value } satisfies Answer),
      (error) => postMessage({ id, error: String(error?.stack ?? error) } satisfies Answer),
    );
  });
}
