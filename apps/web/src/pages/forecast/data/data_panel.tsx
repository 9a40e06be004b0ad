// What was found in the file: its span, a picture of the target, the columns and what is odd about them.

import { Alert, Notices } from '../../../components/alert';
import { PreviewChart } from '../../../charts/preview_chart';
import type { ColumnInfo, TableInfo } from '../../../engine/types';
import { count, shortNumber } from '../../../lib/format';
import { otherData } from '../controller';
import { training } from '../run/run';
import { shownValue } from '../settings/choices';
import { choices, defaults } from '../settings/plan';
import { fieldOf } from '../settings/fields';
import { openNotice, type OpenTable } from './table';

export function DataPanel({ open: { info } }: { open: OpenTable }) {
  const target = choices.value.target ?? info.suggestedTarget;
  const values = info.preview.columns[target];
  return (
    <section class="data" aria-labelledby="data-title">
      <div class="panel-head">
        <div>
          <h2 id="data-title">{info.file}</h2>
          <p class="sub">{describe(info)}</p>
        </div>
        <button type="button" disabled={training.value} onClick={otherData}>
          Other data
        </button>
      </div>
      {openNotice.value && <Alert tone="note">{openNotice.value}</Alert>}
      {values && values.length > 1 && (
        <PreviewChart name={target} step={info.step} times={info.preview.times} values={values} split={split()} />
      )}
      <Notices notices={info.notices} />
      <details>
        <summary>{count(info.columns.length, 'column')}</summary>
        <Columns info={info} />
      </details>
    </section>
  );
}

function describe(info: TableInfo): string {
  const parts = [count(info.rows, 'row')];
  if (info.step) parts.push(`one every ${info.step}`);
  if (info.first && info.last) parts.push(`${info.first} to ${info.last}`);
  return parts.join(' · ');
}

function split(): { train: number; validation: number } {
  const base = defaults.value;
  if (!base) return { train: 0.7, validation: 0.1 };
  const part = (key: string) => Number(choices.value[key] ?? shownValue(fieldOf(key)!, base)) / 100;
  const validation = part('validation');
  return { train: Math.max(0, 1 - validation - part('test')), validation };
}

function Columns({ info }: { info: TableInfo }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Columns">
      <table>
        <thead>
          <tr>
            <th scope="col">column</th>
            <th scope="col" class="text">
              holds
            </th>
            <th scope="col">missing</th>
            <th scope="col">lowest</th>
            <th scope="col">highest</th>
          </tr>
        </thead>
        <tbody>
          {info.columns.map((column) => (
            <tr key={column.name}>
              <th scope="row">{column.name}</th>
              <td class="text">
                {kind(column, info)}
                {column.problem && <span class="problem">{column.problem}</span>}
              </td>
              <td>{column.missing.toLocaleString('en-US')}</td>
              <td>{column.kind === 'number' ? shortNumber(column.min) : '–'}</td>
              <td>{column.kind === 'number' ? shortNumber(column.max) : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function kind(column: ColumnInfo, info: TableInfo): string {
  if (column.name === info.time) return 'times: the clock';
  return { number: 'numbers', time: 'times', text: 'text', empty: 'nothing' }[column.kind];
}
