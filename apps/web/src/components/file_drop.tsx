// A place to drop a file on, or to pick one; the whole page takes drops while it is there.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface Props {
  accept: string;
  busy: boolean;
  onFile: (file: File) => void;
  children: ComponentChildren;
}

export function FileDrop({ accept, busy, onFile, children }: Props) {
  const over = useSignal(false);
  return (
    <label class={`drop${over.value ? ' drop-over' : ''}`} aria-busy={busy}>
      <PageDrop onFile={onFile} onOver={(inside) => (over.value = inside)} />
      <FileInput accept={accept} onFile={onFile} />
      {children}
    </label>
  );
}

export function FileInput({ accept, onFile }: { accept: string; onFile: (file: File) => void }) {
  return (
    <input
      type="file"
      accept={accept}
      class="unseen"
      onChange={(event) => {
        const file = event.currentTarget.files?.[0];
        // So that the same file can be picked again after it was mended.
        event.currentTarget.value = '';
        if (file) onFile(file);
      }}
    />
  );
}

/** Files dropped anywhere on the page. Without it a browser leaves the page to show the file. */
export function PageDrop({ onFile, onOver }: { onFile: (file: File) => void; onOver: (inside: boolean) => void }) {
  const handlers = useRef({ onFile, onOver });
  handlers.current = { onFile, onOver };
  useEffect(() => {
    let depth = 0; // enter and leave come for every element under the pointer
    const carriesFile = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const inside = (change: number) => (event: DragEvent) => {
      if (!carriesFile(event)) return;
      event.preventDefault();
      depth = Math.max(0, depth + change);
      handlers.current.onOver(depth > 0);
    };
    const enter = inside(1);
    const over = inside(0);
    const leave = inside(-1);
    const drop = (event: DragEvent) => {
      if (!carriesFile(event)) return;
      event.preventDefault();
      depth = 0;
      handlers.current.onOver(false);
      const file = event.dataTransfer?.files[0];
      if (file) handlers.current.onFile(file);
    };
    const all = { dragenter: enter, dragover: over, dragleave: leave, drop };
    for (const [name, handler] of Object.entries(all)) addEventListener(name as 'drop', handler);
    return () => {
      for (const [name, handler] of Object.entries(all)) removeEventListener(name as 'drop', handler);
    };
  }, []);
  return null;
}
