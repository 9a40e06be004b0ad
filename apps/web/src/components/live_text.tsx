// Text that a screen reader hears as it changes, at most every few seconds; not shown.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

const kQuietMs = 8000;

export function LiveText({ text }: { text: string }) {
  const spoken = useSignal(text);
  const lastSpoken = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, lastSpoken.current + kQuietMs - performance.now());
    const timer = setTimeout(() => {
      lastSpoken.current = performance.now();
      spoken.value = text;
    }, wait);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <p class="unseen" role="status">
      {spoken}
    </p>
  );
}
