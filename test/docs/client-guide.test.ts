import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readFunctions, routeKeyOf } from '../../infra/endpoints.ts';

const commands = readFileSync('docs/client-guide.md', 'utf8').replaceAll('\\\n', ' ').split('\n');
const { endpoints } = await readFunctions();

/** The method that curl uses; `"$@"` stands for the form that the lines below a shell function give it. */
function methodOf(command: string): string {
  const [, method] = command.match(/ -X (\w+)/) ?? [];
  return method ?? (/ -d | "\$@"/.test(command) ? 'POST' : 'GET');
}

test.each([...endpoints.values()].map((endpoint) => [routeKeyOf(endpoint), endpoint] as const))(
  'the client guide has a request to paste for %s',
  (_, { method, path }) => {
    // A parameter is a shell variable, what a command prints, or a value.
    const filledIn = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '(\\$\\w+|\\$\\([^)]*\\)|\\w+)');
    const address = new RegExp(`"\\$BASE${filledIn}(\\?[^"]*)?"`);
    expect(commands.filter((command) => address.test(command)).map(methodOf)).toContain(method);
  },
);
