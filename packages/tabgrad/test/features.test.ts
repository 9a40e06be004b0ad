import { expect, test } from 'vitest';
import { chooseBuild, environment } from '../src/wasm/features.ts';

const full = { simd: true, relaxedSimd: true, crossOriginIsolated: true, cores: 8 };

test('an isolated page gets threads, fused where the browser has it', () => {
  expect(chooseBuild(0, full)).toEqual({ build: 'relaxed', threads: 8, reason: '' });
  expect(chooseBuild(2, { ...full, relaxedSimd: false })).toEqual({ build: 'threads', threads: 2, reason: '' });
});

test('a page that is not isolated gets one thread and the reason', () => {
  const choice = chooseBuild(4, { ...full, crossOriginIsolated: false });
  expect(choice.build).toBe('single');
  expect(choice.threads).toBe(1);
  expect(choice.reason).toContain('not cross-origin isolated');
});

test('a browser without SIMD is refused with what to do', () => {
  expect(() => chooseBuild(0, { ...full, simd: false })).toThrow('use a current browser');
});

test('many cores do not make many workers', () => {
  expect(chooseBuild(0, { ...full, cores: 128 }).threads).toBe(16);
});

test('the probes are valid modules where the proposals are: Node has both', () => {
  expect(environment()).toMatchObject({ simd: true, relaxedSimd: true, crossOriginIsolated: false });
});
