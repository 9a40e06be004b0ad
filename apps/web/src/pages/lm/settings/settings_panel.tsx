// The settings of a language model: their controls, and what the run will be.

import { Notices } from '../../../components/alert';
import { NumberInput, SelectField } from '../../../components/fields';
import { FileInput } from '../../../components/file_drop';
import { SettingsForm } from '../../../components/settings_form';
import { deviceChoice } from '../../../engine/device';
import type { Device, LmKind, LmPlan, LmPreset, LmSettings } from '../../../engine/types';
import { bytes, count, roughDuration, shortNumber } from '../../../lib/format';
import { startTraining } from '../controller';
import { run, training } from '../run/run';
import { type Foretold, foretold, kSoonSeconds } from '../run/foretell';
import { secondsFor, speeds } from '../run/speed';
import { model, openTokenizer, tokenizerFile } from '../text/text';
import { shownValue } from './choices';
import { type Field, fieldOf, type Group, kFields } from './fields';
import { choices, choose, corpus, defaults, fromModel, goesOn, planned, presets, wanted } from './plan';

const kMoreGroups: [Exclude<Group, 'main'>, string][] = [
  ['model', 'Model'],
  ['training', 'Training'],
  ['text', 'Text'],
];

export function SettingsPanel() {
  const base = defaults.value;
  if (!base) return <section class="settings" aria-label="Settings" />;
  const gpt = wanted.value.kind === 'gpt';
  const shown = (group: Group) =>
    kFields.filter((field) => field.group === group && !(field.ofModel && goesOn.value) && (gpt || !field.ofGpt));
  return (
    <SettingsForm
      training={training.value}
      again={run.value !== null}
      planned={planned.value}
      groupOf={(field) => fieldOf(field)?.group}
      more={kMoreGroups}
      controls={(group) => (
        <>
          {group === 'main' && model.value && <BeginWith />}
          {shown(group).map((field) => (
            <Control key={field.key} field={field} base={base} />
          ))}
        </>
      )}
      planText={(plan) => <PlanText plan={plan} />}
      onTrain={() => void startTraining()}
    />
  );
}

function BeginWith() {
  return (
    <SelectField
      label="Begin with"
      value={fromModel.value ? 'model' : 'random'}
      options={[
        ['model', 'The opened model'],
        ['random', 'A new model'],
      ]}
      onChoose={(value) => (fromModel.value = value === 'model')}
    />
  );
}

function PlanText({ plan }: { plan: LmPlan }) {
  return (
    <div class="plan">
      <p>
        {count(plan.parameters, 'parameter')}, {shortNumber(plan.flopsPerStep / 1e9)} GFLOP a step,{' '}
        {bytes(plan.peakBytes)} of memory. <Duration plan={plan} />
      </p>
      <Notices notices={plan.notices} />
    </div>
  );
}

const kOn: Record<Device, string> = { wasm: 'the CPU', webgpu: 'the GPU', webgl: 'the GPU through WebGL2' };

/** By what this device did before, else by a short measurement. */
function Duration({ plan }: { plan: LmPlan }) {
  const now = foretold.value;
  const choice = deviceChoice.value;
  const told = now === 'measuring' ? null : now;
  const before = secondsFor(plan, told?.device ?? (choice === 'auto' ? 'wasm' : choice), speeds.value);
  if (before !== null)
    return (
      <>
        It takes {roughDuration(before)}, going by how fast this device was before. {told && sizeText(told)}
      </>
    );
  if (now === 'measuring') return <>How long it takes is being measured …</>;
  if (!told) return <>How long it takes is known after the first steps.</>;
  return (
    <>
      It takes {roughDuration(told.seconds)} on {kOn[told.device]}, going by a short measurement. {sizeText(told)}
    </>
  );
}

function sizeText({ size }: Foretold): string {
  if (!size) return '';
  const { preset, device } = size;
  return `The largest size that takes so many steps within ${kSoonSeconds / 60} minutes here is ${preset}, on ${kOn[device]}.`;
}

function Control({ field, base }: { field: Field; base: LmSettings }) {
  const { key, label } = field;
  const value = choices.value[key] ?? shownValue(field, base);
  const plan = planned.value;
  const error = plan.state === 'impossible' && plan.field === key ? plan.text : null;
  const common = { label, error, help: field.help, value, onChoose: (text: string) => choose(key, text) };
  if (key === 'preset') return <SelectField {...common} options={sizes(presets.value, wanted.value.kind, value)} />;
  if (key === 'tokenizer') return <TokenizerControl {...common} field={field} />;
  if (field.input === 'choice') return <SelectField {...common} options={field.options} />;
  return (
    <NumberInput
      {...common}
      whole={field.whole}
      min={field.min}
      max={field.max}
      step={field.step ?? (field.whole ? 1 : 'any')}
    />
  );
}

function sizes(list: LmPreset[], kind: LmKind, value: string): [string, string][] {
  if (list.length === 0) return [[value, value]];
  return list.map(({ name, parameters }) => [name, `${name}: ${rounded(parameters[kind])} parameters`]);
}

function rounded(parameters: number): string {
  return parameters < 1e6
    ? `${Math.round(parameters / 1e3)} thousand`
    : `${Number((parameters / 1e6).toPrecision(2))} million`;
}

interface TokenizerProps {
  field: Field;
  label: string;
  value: string;
  error: string | null;
  help: string | undefined;
  onChoose: (value: string) => void;
}

function TokenizerControl({ field, value, ...common }: TokenizerProps) {
  if (goesOn.value || field.input !== 'choice') return null;
  const file = tokenizerFile.value;
  const options = field.options
    .filter(([option]) => (option !== 'model' || model.value) && (option !== 'file' || file || value === 'file'))
    .map(([option, text]): [string, string] =>
      option === 'file'
        ? [option, file ? `${file.name}: ${file.vocabulary.toLocaleString('en-US')} tokens` : 'The saved run’s']
        : [option, text],
    );
  const take = async ([chosen]: File[]) => {
    if (chosen && (await openTokenizer(chosen))) common.onChoose('file');
  };
  return (
    <div class="field">
      <SelectField {...common} value={value} options={options} help={made(value)} />
      <label class="field-help file-link">
        <FileInput accept=".json,application/json" onFiles={(files) => void take(files)} />
        <span class="as-link">Use a tokenizer.json</span>
      </label>
    </div>
  );
}

/** A small text has fewer different pieces than were asked for. */
function made(value: string): string | undefined {
  const found = corpus.value;
  const wanted = Number(value.split(':')[1]);
  if (!found || found.tokenizer !== value || !(found.vocabulary < wanted)) return undefined;
  return `The text gave ${found.vocabulary.toLocaleString('en-US')}.`;
}
