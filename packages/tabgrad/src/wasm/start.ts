// Starts the build that was chosen, and the single-threaded one where its threads do not come.
//
// Why: a browser may leave nested workers waiting for ever (Firefox ESR 153 does now and then with eight of them), or refuse the
// memory that threads share.

import { type BuildChoice } from './features.ts';

/** Threads that come at all come within 2 s, even on a loaded machine; a slow network's part is not in it. */
export const kPatienceMs = 20_000;

export interface Started<E> {
  engine: E;
  choice: BuildChoice;
}

/** load: makes an instance of a build; what it makes after patienceMs is left alone. Rejects as the single-threaded build does. */
export async function startBuild<E>(
  choice: BuildChoice,
  load: (choice: BuildChoice) => Promise<E>,
  patienceMs = kPatienceMs,
): Promise<Started<E>> {
  if (choice.build === 'single') return { engine: await load(choice), choice };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`they did not start within ${patienceMs / 1000} s`)), patienceMs);
  });
  try {
    return { engine: await Promise.race([load(choice), late]), choice };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const reason = `Single thread: the browser gave no ${choice.threads} threads (${why}).`;
    const single: BuildChoice = { build: 'single', threads: 1, reason };
    return { engine: await load(single), choice: single };
  } finally {
    clearTimeout(timer);
  }
}
