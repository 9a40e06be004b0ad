// A place to drop files on, or to pick them; the whole page takes drops while it is there.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface Props {
  accept: string;
  /** More than one file at once. */
  many?: boolean;
  busy: boolean;
  onFiles: (files: File[]) => void;
  children: ComponentChildren;
}

export function FileDrop({ accept, many = false, busy, onFiles, children }: Props) {
  const over = useSignal(false);
  return (
    <label class={`drop${over.value ? ' drop-over' : ''}`} aria-busy={busy}>
      <PageDrop onFiles={onFiles} onOver={(inside) => (over.value = inside)} />
      <FileInput accept={accept} many={many} onFiles={onFiles} />
      {children}
    </label>
  );
}

export function FileInput({ accept, many = false, onFiles }: Pick<Props, 'accept' | 'many' | 'onFiles'>) {
  return (
    <input
      type="file"
      accept={accept}
      multiple={many}
      class="unseen"
      onChange={(event) => {
        const files = [...(event.currentTarget.files ?? [])];
        // So that the same file can be picked again after it was mended.
        event.currentTarget.value = '';
        if (files.length > 0) onFiles(files);
      }}
    />
  );
}

/** Files dropped anywhere on the page. Without it a browser leaves the page to show the file. */
export function PageDrop({ onFiles, onOver }: Pick<Props, 'onFiles'> & { onOver: (inside: boolean) => void }) {
  const handlers = useRef({ onFiles, onOver });
  handlers.current = { onFiles, onOver };
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
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length > 0) handlers.current.onFiles(files);
    };
    const all = { dragenter: enter, dragover: over, dragleave: leave, drop };
    for (const [name, handler] of Object.entries(all)) addEventListener(name as 'drop', handler);
    return () => {
      for (const [name, handler] of Object.entries(all)) removeEventListener(name as 'drop', handler);
    };
  }, []);
  return null;
}
