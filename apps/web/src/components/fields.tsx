// Native form elements with label, help and error tied together.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Base {
  label: string;
  help?: string | undefined;
  error?: string | null | undefined;
}

/** Label above, then the control, then help or what is wrong. */
function Labelled({ id, label, help, error, children }: Base & { id: string; children: ComponentChildren }) {
  return (
    <div class={`field${error ? ' field-wrong' : ''}`}>
      <label for={id}>{label}</label>
      {children}
      {(error || help) && (
        <p class={error ? 'field-error' : 'field-help'} id={`${id}-note`} role={error ? 'alert' : undefined}>
          {error || help}
        </p>
      )}
    </div>
  );
}

function described(id: string, { help, error }: Base) {
  return { 'aria-describedby': help || error ? `${id}-note` : undefined, 'aria-invalid': error ? true : undefined };
}

interface SelectProps extends Base {
  value: string;
  options: [value: string, label: string][];
  onChoose: (value: string) => void;
}

export function SelectField(props: SelectProps) {
  const id = useId();
  const { value, options, onChoose } = props;
  return (
    <Labelled {...props} id={id}>
      <select id={id} value={value} onChange={(e) => onChoose(e.currentTarget.value)} {...described(id, props)}>
        {options.map(([option, label]) => (
          <option key={option} value={option} selected={option === value}>
            {label}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

interface NumberProps extends Base {
  value: string;
  min: number;
  max?: number | undefined;
  step: number | 'any';
  whole: boolean;
  onChoose: (value: string) => void;
}

export function NumberInput(props: NumberProps) {
  const id = useId();
  const { value, min, max, step, whole, onChoose } = props;
  return (
    <Labelled {...props} id={id}>
      <input
        id={id}
        type="number"
        inputMode={whole ? 'numeric' : 'decimal'}
        value={value}
        min={min}
        max={max}
        step={step}
        required
        onInput={(e) => onChoose(e.currentTarget.value)}
        {...described(id, props)}
      />
    </Labelled>
  );
}

interface TextProps extends Base {
  value: string;
  onChoose: (value: string) => void;
}

export function TextInput(props: TextProps) {
  const id = useId();
  const { value, onChoose } = props;
  return (
    <Labelled {...props} id={id}>
      <input
        id={id}
        type="text"
        value={value}
        onInput={(e) => onChoose(e.currentTarget.value)}
        {...described(id, props)}
      />
    </Labelled>
  );
}

interface SegmentsProps extends Base {
  value: string;
  options: [value: string, label: string][];
  onChoose: (value: string) => void;
}

/** A few choices side by side: radio buttons. */
export function Segments({ label, value, options, onChoose }: SegmentsProps) {
  const name = useId();
  return (
    <fieldset class="field segments">
      <legend>{label}</legend>
      <div>
        {options.map(([option, text]) => (
          <label key={option}>
            <input type="radio" name={name} checked={option === value} onChange={() => onChoose(option)} />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface ChecksProps {
  label: string;
  chosen: string[];
  options: string[];
  onChoose: (chosen: string[]) => void;
}

export function Checks({ label, chosen, options, onChoose }: ChecksProps) {
  return (
    <fieldset class="field checks">
      <legend>{label}</legend>
      <div>
        {options.map((option) => (
          <label key={option}>
            <input
              type="checkbox"
              checked={chosen.includes(option)}
              onChange={(e) =>
                onChoose(options.filter((o) => (o === option ? e.currentTarget.checked : chosen.includes(o))))
              }
            />
            <span>{option}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
