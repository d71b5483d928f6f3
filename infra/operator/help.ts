import { type Command, commandTable, type Flag } from '../../lib/operator/command-table.ts';

const usage = 'npm run -s operator -- NOUN VERB --flag value';
const nouns: Record<string, Record<string, Command>> = commandTable;

const targetFlags = [
  ['--local', 'The stack that npm start runs on this machine'],
  ['--stack NAME', 'The deployed stack of that name (the default, login-service)'],
] as const;

/** The help for what has been named so far: all nouns, the verbs of one, or the flags of a command. */
export function helpFor(noun: string | undefined, verb: string | undefined): string {
  const verbs = noun === undefined ? undefined : nouns[noun];
  const command = verb === undefined ? undefined : verbs?.[verb];
  if (noun && verb && command) return commandHelp(noun, verb, command);
  if (noun && verbs) return section(`${usage.replace('NOUN', noun)}`, 'Verbs:', verbRows(noun, verbs));
  const rows = Object.entries(nouns).flatMap(([name, verbs]) => verbRows(name, verbs));
  return section(usage, 'Commands:', rows);
}

const commandHelp = (noun: string, verb: string, { summary, flags }: Command): string =>
  [
    summary,
    '',
    section(
      `npm run -s operator -- ${noun} ${verb} ${Object.values(flags).some(isLines) ? 'FILE.ndjson' : '--flag value'}`,
      'Flags:',
      Object.entries(flags).map(([name, flag]) => [left(name, flag), flagHelp(flag)]),
    ),
  ].join('\n');

const verbRows = (noun: string, verbs: Record<string, Command>): [string, string][] =>
  Object.entries(verbs).map(([verb, { summary }]) => [`${noun} ${verb}`, summary]);

function placeholder(flag: Flag): string {
  if (flag.kind === 'id') return flag.form;
  if (flag.kind === 'choice') return flag.of.join('|');
  return { number: 'NUMBER', text: 'TEXT', json: 'FILE.json', lines: 'FILE.ndjson' }[flag.kind];
}

const isLines = ({ kind }: Flag): boolean => kind === 'lines';

const left = (name: string, flag: Flag): string =>
  isLines(flag) ? placeholder(flag) : `--${name} ${placeholder(flag)}`;

const flagHelp = ({ help, optional }: Flag): string => (optional ? `${help} (optional)` : help);

function section(usageLine: string, title: string, rows: [string, string][]): string {
  const all = [...rows, ...targetFlags, ['--help', 'This text, for a noun or a command too'] as const];
  const width = Math.max(...all.map(([left]) => Math.min(left.length, 44)));
  const lines = all.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
  return [`Usage: ${usageLine}`, '', title, ...lines].join('\n');
}
