// What the benchmark commands share at the command line: options with checks, and a --help that prints the head of their file.
import { readFileSync } from 'node:fs';
import { parseArgs, type ParseArgsConfig } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** Of a command that runs its page elsewhere (run.ts). */
export const kElsewhere = {
  'build-only': { type: 'boolean', default: false },
  from: { type: 'string' },
  cpu: { type: 'string' },
} as const;

export function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

/** `file`: the command's source, whose first comment is its help. */
export function parse<O extends Options>(file: string, options: O) {
  if (process.argv.includes('--help')) {
    const lines = readFileSync(file, 'utf8').split('\n');
    const end = lines.findIndex((line) => !line.startsWith('//'));
    console.log(
      lines
        .slice(0, end)
        .map((line) => line.replace(/^\/\/ ?/, ''))
        .join('\n'),
    );
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    fail(`${(error as Error).message} (--help lists the options)`);
  }
}

/** The words of a comma-separated option, each checked; '' has none. */
export function words<T extends string>(option: string, text: string, known: readonly T[]): T[] {
  const list = text.split(',').filter(Boolean);
  for (const word of list) if (!known.includes(word as T)) fail(`--${option} ${word}: not one of ${known.join(', ')}`);
  return list as T[];
}

export function positive(option: string, text: string): number {
  const value = Number(text);
  return value > 0 ? value : fail(`--${option} ${text}: a number above 0 is needed`);
}

/** The name that a result's file gets; undefined: no file is wanted. */
export function hostName(text: string | undefined): string | undefined {
  if (text !== undefined && !/^[\w-]+$/.test(text)) fail(`--host ${text}: letters, digits and - only`);
  return text;
}
