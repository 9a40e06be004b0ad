// Between the page that takes turns and the workers that hold one peer each. Every request gets one answer.
import type { SideCalls } from '../../packages/tabgrad/src/bench/protocol.ts';

export type Request = { [K in keyof SideCalls]: { id: number; call: K; args: SideCalls[K][0] } }[keyof SideCalls];
export type Answer = { id: number; value: unknown } | { id: number; error: string };
