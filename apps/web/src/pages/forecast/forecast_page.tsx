// The page "Forecast": from a file to a judged forecast. Without data it invites to open some; with data it is a workbench.

import { useEffect } from 'preact/hooks';
import { EngineStopped } from '../../components/engine_stopped';
import { table } from './data/table';
import { Start } from './start';
import { startPage } from './controller';
import { Workbench } from './workbench';

export function ForecastPage() {
  useEffect(startPage, []);
  return (
    <>
      <EngineStopped />
      {table.value ? <Workbench open={table.value} /> : <Start />}
    </>
  );
}
