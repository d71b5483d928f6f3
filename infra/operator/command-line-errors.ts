import type { Command, CommanderError } from 'commander';
import { visibleIn } from './help.ts';

/**
 * One line for people about a command line that could not be read. It never holds the value of an
 * option, which may be a secret.
 * @param command the innermost one that the words name
 */
export function lineOf({ code, message }: CommanderError, command: Command): string {
  const choices = chooseOneOf(visibleIn(command).map((one) => one.name()));
  if (code === 'commander.help') return `The command is incomplete. ${choices}`;
  const line = message.replace(/^error: |\.$/g, '').replace('\n', ' ');
  if (code === 'commander.unknownOption') return aboutOption(line, command);
  if (code === 'commander.unknownCommand') return `${line}. ${choices}`;
  return `${line}. See --help.`;
}

/**
 * A line about an unknown option, with the one that was meant, or all, but without the value that
 * was typed.
 */
function aboutOption(message: string, { options }: Command): string {
  const line = message.replace(/=.*'/s, "'");
  const [, typed] = line.match(/'(.*)'/) ?? [];
  const flags = options.flatMap(({ long }) => long ?? []);
  const longer = flags.find((flag) => flag.startsWith(`${typed}-`));
  if (longer !== undefined) return `${line} (Did you mean ${longer}?). See --help.`;
  // Commander adds its own suggestion after the quotation mark.
  const hasSuggestion = !line.endsWith("'");
  if (hasSuggestion || flags.length === 0) return `${line}. See --help.`;
  return `${line}. ${chooseOneOf(flags)}`;
}

const chooseOneOf = (choices: string[]): string => `Choose one of ${choices.join(', ')}.`;
