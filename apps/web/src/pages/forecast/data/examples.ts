// The bundled series, with settings that show what they are about.

import births from '../../../../../../examples/data/us-births-1969-1988.csv?url';
import co2 from '../../../../../../examples/data/co2-concentration.csv?url';
import seattle from '../../../../../../examples/data/seattle-weather.csv?url';
import type { Choices } from '../settings/choices';

export interface Example {
  id: string;
  file: string;
  url: string;
  title: string;
  about: string;
  choices: Choices;
}

export const kExamples: Example[] = [
  {
    id: 'us-births',
    file: 'us-births-1969-1988.csv',
    url: births,
    title: 'Births in the USA',
    about: 'Every day, 1969 to 1988. The week and the year show.',
    choices: { horizon: '14', calendar: 'auto' },
  },
  {
    id: 'seattle-weather',
    file: 'seattle-weather.csv',
    url: seattle,
    title: 'Weather in Seattle',
    about: 'Every day, 2012 to 2015. Tomorrow’s highest temperature.',
    choices: { target: 'temp_max', features: 'precipitation,temp_min,wind', calendar: 'yearday', horizon: '1' },
  },
  {
    id: 'co2',
    file: 'co2-concentration.csv',
    url: co2,
    title: 'CO₂ at Mauna Loa',
    about: 'Every month, 1958 to 2020. Simple methods do well here.',
    choices: { target: 'CO2', horizon: '12' },
  },
];

export async function fetchExample(example: Example): Promise<Blob> {
  const response = await fetch(example.url).catch(() => null);
  if (!response?.ok)
    throw new Error(`${example.file} could not be loaded. Check the connection, or open a file of your own.`);
  return response.blob();
}
