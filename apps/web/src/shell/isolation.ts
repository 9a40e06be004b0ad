// Registers the service worker, and waits until the engine may start.
//
// The first visit waits for the worker to take control, so that it keeps the engine's files too; on a host that sends no isolation
// headers the page is loaded once more, through the worker, which adds them. Without service workers (plain http, private windows)
// the engine starts at once: single-threaded and online, if need be.

/** A worker that is not there by then is not waited for. */
const kWaitMs = 4000;
const kReloadedKey = 'tabgrad-reloaded-for-isolation';

function remember(): boolean {
  try {
    if (sessionStorage.getItem(kReloadedKey)) return false;
    sessionStorage.setItem(kReloadedKey, '1');
    return true;
  } catch {
    return false; // no storage: a reload could repeat for ever
  }
}

function controlled(): Promise<boolean> {
  if (navigator.serviceWorker.controller) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), kWaitMs);
    navigator.serviceWorker.addEventListener(
      'controllerchange',
      () => {
        clearTimeout(timer);
        resolve(true);
      },
      { once: true },
    );
  });
}

export async function readyForEngine(): Promise<void> {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  try {
    const registration = await navigator.serviceWorker.register('./sw.js');
    // Loaded past the worker on purpose (shift-reload): it will not take control of this page.
    if (registration.active && !navigator.serviceWorker.controller) return;
  } catch {
    return;
  }
  if ((await controlled()) && !crossOriginIsolated && remember()) {
    location.reload();
    await new Promise<never>(() => {});
  }
}
