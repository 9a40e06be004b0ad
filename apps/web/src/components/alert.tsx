// A message in its place. Errors interrupt a screen reader, all else waits.

import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

interface Props {
  tone: 'error' | 'note' | 'good' | 'bad';
  title?: string;
  children: ComponentChildren;
  onDismiss?: () => void;
}

export function Alert({ tone, title, children, onDismiss }: Props) {
  return (
    <div class={`alert alert-${tone}`} role={tone === 'error' ? 'alert' : 'status'}>
      <div class="alert-body">
        {title && <p class="alert-title">{title}</p>}
        {typeof children === 'string' ? <p>{children}</p> : children}
      </div>
      {onDismiss && (
        <button type="button" class="quiet" onClick={onDismiss}>
          Dismiss
        </button>
      )}
    </div>
  );
}

/** The first that there is of a page's errors; dismissing it clears them all. */
export function PageError({ errors }: { errors: Signal<string | null>[] }) {
  const error = errors.map(({ value }) => value).find((value) => value !== null);
  if (!error) return null;
  const clear = () => {
    for (const each of errors) each.value = null;
  };
  return (
    <Alert tone="error" onDismiss={clear}>
      {error}
    </Alert>
  );
}

/** Plain sentences about data or run. */
export function Notices({ notices }: { notices: string[] }) {
  if (notices.length === 0) return null;
  return (
    <ul class="notices">
      {notices.map((notice) => (
        <li key={notice}>{notice}</li>
      ))}
    </ul>
  );
}
