import { join } from 'node:path';
import { execa } from 'execa';
import * as v from 'valibot';
import { installed } from '../../infra/local/local-files.ts';
import { pinName, pins } from '../../infra/settings/pins.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { shown } from '../support/commands.ts';

const workflow = 'docs/examples/pipeline/deploy.yml';
const actionlint = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';

/**
 * Lints the workflow by actionlint, and the Terraform file as far as it goes without Terraform's
 * provider; how many files there are.
 * @param commands the folder of Python and Go
 * @throws Error when one has a fault
 */
export async function lintPipeline(commands: string): Promise<number> {
  const bin = await installed('actionlint', import.meta.filename, (directory) =>
    execa(join(commands, 'go'), ['install', actionlint], {
      ...shown,
      env: { GOBIN: directory, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
    }),
  );
  await execa(join(bin, 'actionlint'), [workflow], shown);

  const input = codeBlock('pipeline.md', 'hcl', 'Terraform');
  const parse = 'import hcl2, json, sys; json.dump(hcl2.load(sys.stdin), sys.stdout)';
  const { stdout } = await execa(join(commands, 'python'), ['-c', parse], { input });
  v.parse(terraformSchema, JSON.parse(stdout));
  return 2;
}

const text = v.string();

/**
 * The Terraform file as its parser has it, with arguments that the resource knows and the
 * parameters of the template.
 * @see Terraform's AWS provider, "aws_cloudformation_stack"
 */
const terraformSchema = v.object({
  resource: v.tuple([
    v.strictObject({
      '"aws_cloudformation_stack"': v.strictObject({
        '"login_service"': v.strictObject({
          name: text,
          template_url: text,
          capabilities: text,
          tags: text,
          parameters: v.strictObject(v.entriesFromList(pins.map(pinName), text)),
          timeouts: v.tuple([
            v.strictObject({
              create: text,
              update: text,
              delete: text,
              __is_block__: v.literal(true),
            }),
          ]),
          lifecycle: v.tuple([v.looseObject({ prevent_destroy: v.literal(true) })]),
          __is_block__: v.literal(true),
        }),
      }),
    }),
  ]),
});
