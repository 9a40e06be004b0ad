// What the panels of runs have alike: commands, what computed it, what was saved, and how a new run comes into view.

import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { DeviceUse } from '../engine/types';
import type { RunCommand, RunState } from '../runs/page_run';

interface CommandsProps {
  state: RunState;
  /** What the button says that ends the run. */
  stop: string;
  onCommand: (name: RunCommand) => Promise<void>;
}

export function RunCommands({ state, stop, onCommand }: CommandsProps) {
  if (state !== 'training' && state !== 'paused') return null;
  return (
    <div class="actions">
      {state === 'training' ? (
        <button type="button" onClick={() => void onCommand('pause')}>
          Pause
        </button>
      ) : (
        <button type="button" class="primary" onClick={() => void onCommand('resume')}>
          Continue
        </button>
      )}
      <button type="button" onClick={() => void onCommand('stop')}>
        {stop}
      </button>
    </div>
  );
}

/** For the heading of a run: one that begins below the fold is brought into view, and to keyboards and screen readers. */
export function useIntoView(run: string, wanted = true): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!wanted) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView({ block: 'nearest' });
  }, [run]);
  return heading;
}

export function computedBy({ description, reason }: DeviceUse): string {
  return `Computed by ${description}. ${reason}`;
}

/** '' when nothing was saved, or when the run has ended and nothing can be lost. */
export function savedAt(step: number | null, state: RunState): string {
  if (step === null || state === 'ended') return '';
  return `Saved at step ${step.toLocaleString('en-US')}: closing this page loses nothing before it.`;
}
