import { type Command, Help } from 'commander';
import {
  type Flag,
  type Command as OperatorCommand,
  typedName,
} from '../../lib/operator/command.ts';
import { operatorCommand } from '../version.ts';

/**
 * The nouns of the command line under their headings in the help, each with a line about it. A noun
 * that is missing here is hidden: the machinery of the service uses it.
 */
const nouns: Record<string, Record<string, string>> = {
  People: {
    'login-users': 'The people of a Login App: find, import, block, delete',
    identities: 'The identities that a person can log in with',
    sessions: 'The sessions of a person',
    devices: 'Devices for push notifications: find, import, export',
  },
  'Login Apps': {
    'login-apps': 'Login Apps, and long-lived tokens to ship in an app',
    clients: 'The clients of a Login App, with their secrets and keys',
    providers: 'How a Login App verifies logins at identity providers',
    'mobile-applications': 'The platforms whose devices may register',
  },
  'Back offices': {
    accounts: 'The accounts of back offices, with their secrets',
    'access-requests': 'Access requests, and the accounts with access to them',
    comments: 'Comments on access requests',
    reviews: 'Reviews of access requests',
    events: 'The comments and reviews of an access request',
  },
  'The deployment': {
    check: 'Try a stack out, and report what is wrong',
    release: 'The versions that are live: show, go back, go forward',
    'signing-keys': 'The keys that sign access tokens: revoke a leaked one',
  },
};

/** Adds the nouns that people use, with what the help says about them. */
export function addNouns(program: Command): void {
  for (const [heading, about] of Object.entries(nouns)) {
    for (const [noun, summary] of Object.entries(about)) {
      const command = program.command(noun).helpGroup(`${heading}:`);
      command.summary(summary).description(summary);
    }
  }
}

/** Settings of commander's help: it lists nouns, and in the help of a noun the commands of it. */
export const helpConfiguration = {
  showGlobalOptions: true,
  subcommandTerm: wordsOf,
  // Only here: the suggestions for a mistyped command come from visibleCommands, too.
  formatHelp: (command: Command, help: Help) =>
    new Help().formatHelp(command, Object.assign(help, { visibleCommands: commandsListedFor })),
};

/** The end of the help of the whole command line. */
export const helpOfNouns = `\nA noun lists its verbs: ${operatorCommand} login-users --help`;

function commandsListedFor(command: Command): Command[] {
  const isWholeCommandLine = command.parent === null;
  return isWholeCommandLine ? visibleIn(command) : visibleLeavesOf(command);
}

/** The commands of a group that the help does not hide, without commander's own `help`. */
export function visibleIn(group: Command): Command[] {
  const visible = new Help().visibleCommands(group);
  return group.commands.filter((command) => visible.includes(command));
}

function visibleLeavesOf(group: Command): Command[] {
  return visibleIn(group).flatMap((command) =>
    command.commands.length > 0 ? visibleLeavesOf(command) : [command],
  );
}

/** The words of a command, without those that start the command line: `login-apps tokens list`. */
function wordsOf(command: Command): string {
  const { parent } = command;
  const isNoun = !parent?.parent;
  return isNoun ? command.name() : `${wordsOf(parent)} ${command.name()}`;
}

/**
 * A command for the stack on this machine, as typed in a shell whose variables hold the ids and the
 * texts.
 */
export function exampleOf({ words, flags, example }: OperatorCommand): string {
  const needed = Object.entries(flags).filter(([, flag]) => !flag.optional);
  const typed = needed.map(([name, flag]) => typedExample(name, flag)).join(' ');
  return [operatorCommand, words, example ?? typed, '--local'].filter(Boolean).join(' ');
}

/** A flag with a value, as an example types it; only the file of a flag for lines. */
function typedExample(name: string, flag: Flag): string {
  const value = exampleValue(name, flag);
  return flag.kind === 'lines' ? value : `--${typedName(name, flag)} ${value}`;
}

function exampleValue(name: string, { kind, placeholder }: Flag): string {
  if (kind === 'subset') return 'all';
  if (kind === 'choice') return placeholder.replace(/\|.*/, '');
  if (placeholder.startsWith('FILE')) {
    const extension = placeholder.replace('FILE', '') || '.txt';
    return `${name}${extension}`;
  }
  return `"$${name.toUpperCase().replaceAll('-', '_')}"`;
}
