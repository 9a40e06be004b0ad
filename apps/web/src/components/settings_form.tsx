// The frame around a page's settings: the few that matter, the others folded away in groups, what the run will be, and Train.

import type { ComponentChildren } from 'preact';
import { Alert } from './alert';
import { DeviceControl } from './device_control';

/** What the engine makes of the settings. */
type Planned<P> =
  | { state: 'none' | 'planning' }
  | { state: 'planned'; plan: P }
  | { state: 'impossible'; text: string; field: string | null };

interface Props<G extends string, P> {
  /** A run has the engine: nothing can be set. */
  training: boolean;
  /** There is a run to be replaced. */
  again: boolean;
  planned: Planned<P>;
  /** Of a setting; those that are not 'main' are folded away. */
  groupOf: (field: string) => string | undefined;
  /** The groups folded away, with their titles. */
  more: [Exclude<G, 'main'>, string][];
  controls: (group: G | 'main') => ComponentChildren;
  planText: (plan: P) => ComponentChildren;
  onTrain: () => void;
}

export function SettingsForm<G extends string, P>(props: Props<G, P>) {
  const { training, again, planned, groupOf, more, controls, planText, onTrain } = props;
  const wrong = planned.state === 'impossible' ? planned : null;
  const wrongInMore = wrong !== null && wrong.field !== null && groupOf(wrong.field) !== 'main';
  return (
    // While its controls are disabled, the panel itself takes the keys that scroll it.
    <section class="settings" aria-labelledby="settings-title" tabIndex={training ? 0 : undefined}>
      <h2 id="settings-title">Settings</h2>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!training) onTrain();
        }}
      >
        <fieldset disabled={training} class="plain">
          <div class="field-grid">{controls('main')}</div>
          <details open={wrongInMore || undefined}>
            <summary>More settings</summary>
            {more.map(([group, title]) => (
              <fieldset key={group} class="plain group">
                <legend>{title}</legend>
                <div class="field-grid">
                  {controls(group)}
                  {group === 'training' && <DeviceControl />}
                </div>
              </fieldset>
            ))}
          </details>
        </fieldset>
        {wrong && !wrong.field && (
          <Alert tone="error" title="These settings do not fit">
            {wrong.text}
          </Alert>
        )}
        {planned.state === 'planned' && planText(planned.plan)}
        <div class="go">
          <button type="submit" class="primary" disabled={training || planned.state !== 'planned'}>
            {again && !training ? 'Train anew' : 'Train'}
          </button>
        </div>
      </form>
    </section>
  );
}
