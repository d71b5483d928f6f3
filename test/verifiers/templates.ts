import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { localDirectory } from '../../infra/local/local-directories.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { shown } from '../support/commands.ts';

const page = 'verifying-tokens.md';

/**
 * Has cfn-lint look at the recipes for AWS; that of the CDK is synthesized first.
 * @returns how many there are. @throws Error when there is something wrong with one
 */
export async function lintTemplates(commands: string): Promise<number> {
  const directory = localDirectory('verifiers', 'templates');
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const app = file('orders.ts', codeBlock(page, 'ts', 'API Gateway'));
  await execa(process.execPath, [app], { ...shown, env: { CDK_OUTDIR: directory } });
  const templates = [
    join(directory, 'Orders.template.json'),
    file('load-balancer.yaml', codeBlock(page, 'yaml', 'Load balancer')),
  ];
  await execa(join(commands, 'cfn-lint'), templates, shown);
  return templates.length;
}
