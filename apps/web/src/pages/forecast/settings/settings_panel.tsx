// The settings of a forecast: their controls, and what the run will be.

import { Notices } from '../../../components/alert';
import { Checks, NumberInput, Segments, SelectField } from '../../../components/fields';
import { SettingsForm } from '../../../components/settings_form';
import type { ForecastSettings, RunPlan, TableInfo } from '../../../engine/types';
import { bytes, count } from '../../../lib/format';
import { hasClock, spanOf } from '../../../lib/time_step';
import { startTraining } from '../controller';
import type { OpenTable } from '../data/table';
import { run, training } from '../run/run';
import { joinNames, shownValue, splitNames } from './choices';
import { fieldOf, type Group, kFields, type Field } from './fields';
import { choices, choose, defaults, planned } from './plan';

const kMoreGroups: [Exclude<Group, 'main'>, string][] = [
  ['data', 'Data'],
  ['model', 'Model'],
  ['training', 'Training'],
];

export function SettingsPanel({ open: { info } }: { open: OpenTable }) {
  const base = defaults.value;
  if (!base) return <section class="settings" aria-label="Settings" />;
  const shown = (group: Group) => kFields.filter((field) => field.group === group && (field.shown?.(base) ?? true));
  return (
    <SettingsForm
      training={training.value}
      again={run.value !== null}
      planned={planned.value}
      groupOf={(field) => fieldOf(field)?.group}
      more={kMoreGroups}
      controls={(group) =>
        shown(group).map((field) => <Control key={field.key} field={field} info={info} base={base} />)
      }
      planText={(plan) => <PlanText plan={plan} />}
      onTrain={() => void startTraining()}
    />
  );
}

function PlanText({ plan }: { plan: RunPlan }) {
  return (
    <div class="plan">
      <p>
        {count(plan.parameters, 'parameter')}, {count(plan.windows.training, 'training window')}, at most{' '}
        {count(plan.steps, 'step')} ({plan.stepsPerEpoch.toLocaleString('en-US')} an epoch), {bytes(plan.peakBytes)} of
        memory.
      </p>
      <Notices notices={plan.notices} />
    </div>
  );
}

interface ControlProps {
  field: Field;
  info: TableInfo;
  base: ForecastSettings;
}

function Control({ field, info, base }: ControlProps) {
  const { key, label } = field;
  const value = choices.value[key] ?? shownValue(field, base);
  const plan = planned.value;
  const error = plan.state === 'impossible' && plan.field === key ? plan.text : null;
  const onChoose = (text: string) => choose(key, text);
  const common = { label, error, help: helpOf(field, value, info), value, onChoose };
  switch (field.input) {
    case 'number':
      return (
        <NumberInput
          {...common}
          whole={field.whole}
          min={field.min}
          max={field.max}
          step={field.step ?? (field.whole ? 1 : 'any')}
        />
      );
    case 'choice':
      if (key === 'calendar' && !hasClock(info.step)) return null;
      if (key === 'model') return <Segments {...common} options={field.options} />;
      return <SelectField {...common} options={withValue(field.options, value)} />;
    case 'column':
      return (
        <SelectField {...common} options={withValue(key === 'time' ? timeOptions(info) : targetOptions(info), value)} />
      );
    case 'columns':
      return <Features {...common} info={info} target={choices.value.target ?? base.target} />;
  }
}

/** A value from a link that is in no list is shown as it is. */
function withValue(options: [string, string][], value: string): [string, string][] {
  return options.some(([option]) => option === value) ? options : [...options, [value, value]];
}

function targetOptions(info: TableInfo): [string, string][] {
  return info.columns.filter((c) => c.kind === 'number' && !c.problem).map((c) => [c.name, c.name]);
}

function timeOptions(info: TableInfo): [string, string][] {
  const found: [string, string] = ['', info.time ? `Found: ${info.time}` : 'Found: none'];
  const usable = info.columns.filter((c) => c.kind === 'time' || c.kind === 'number');
  return [found, ...usable.map((c): [string, string] => [c.name, c.name]), ['none', 'None: rows are in order']];
}

function helpOf(field: Field, value: string, info: TableInfo): string | undefined {
  if (field.key !== 'horizon' && field.key !== 'window') return field.help;
  const far = spanOf(Number(value), info.step) || (Number(value) === 1 ? 'step' : 'steps');
  return `${far} ${field.key === 'horizon' ? 'ahead' : 'back'}`;
}

interface FeaturesProps {
  label: string;
  value: string;
  info: TableInfo;
  target: string;
  onChoose: (text: string) => void;
}

function Features({ label, value, info, target, onChoose }: FeaturesProps) {
  const names = info.columns
    .filter((c) => c.kind === 'number' && !c.problem && c.name !== target && c.name !== info.time)
    .map((c) => c.name);
  const chosen = splitNames(value);
  // Named by a link but not usable: shown, so that it can be taken away.
  const options = [...names, ...chosen.filter((name) => !names.includes(name))];
  if (options.length === 0) return null;
  return <Checks label={label} options={options} chosen={chosen} onChoose={(list) => onChoose(joinNames(list))} />;
}
