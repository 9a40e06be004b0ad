// The place for files on a page that has none yet: what may come here, what is being read, and why it did not work.

import { Alert } from './alert';
import { FileDrop } from './file_drop';

interface Props {
  /** Of the section, for screen readers. */
  label: string;
  invitation: string;
  hint: string;
  accept: string;
  /** More than one file at once. */
  many?: boolean;
  /** The name of what is being read. */
  reading: string | null;
  /** A run is being set up. */
  starting: boolean;
  error: string | null;
  onFiles: (files: File[]) => void;
}

export function OpenArea({ label, invitation, hint, accept, many = false, reading, starting, error, onFiles }: Props) {
  return (
    <section class="open" aria-label={label}>
      <FileDrop accept={accept} many={many} busy={reading !== null || starting} onFiles={onFiles}>
        <svg class="drop-icon" viewBox="0 0 48 48" aria-hidden="true">
          <path d="M24 31 V11 M16 19 L24 11 L32 19 M9 30 V36 a3 3 0 0 0 3 3 H36 a3 3 0 0 0 3 -3 V30" />
        </svg>
        <span class="drop-title">
          {reading !== null ? `Reading ${reading} …` : starting ? 'Setting up …' : invitation}
        </span>
        <span class="drop-hint">{hint}</span>
      </FileDrop>
      {error && (
        <Alert tone="error" title="This did not work">
          {error}
        </Alert>
      )}
    </section>
  );
}
