import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { localDirectory } from '../../infra/local/local-directories.ts';
import { shown } from '../support/commands.ts';
import { recipe } from './recipes.ts';

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
  const app = file('orders.ts', recipe('API Gateway', 'ts'));
  await execa(process.execPath, [app], { ...shown, env: { CDK_OUTDIR: directory } });
  const templates = [
    join(directory, 'Orders.template.json'),
    file('api-gateway.yaml', recipe('API Gateway', 'yaml')),
    file('load-balancer.yaml', recipe('Load balancer', 'yaml')),
  ];
  await execa(join(commands, 'cfn-lint'), templates, shown);
  return templates.length;
}
