// Pages that few visits see: their code is loaded when they are opened.

import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Alert } from '../components/alert';

export function later(load: () => Promise<{ default: ComponentType }>): ComponentType {
  const page = signal<{ view: ComponentType } | null>(null);
  const failed = signal(false);
  return function Later() {
    useEffect(() => {
      if (page.peek()) return;
      failed.value = false;
      load().then(
        (module) => (page.value = { view: module.default }),
        () => (failed.value = true),
      );
    }, []);
    const loaded = page.value;
    if (loaded) return <loaded.view />;
    if (failed.value) return <Alert tone="error">This page could not be loaded. Is there a connection?</Alert>;
    return <p role="status">Loading …</p>;
  };
}
