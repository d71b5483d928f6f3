import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { shown } from '../support/commands.ts';
import { variants } from '../support/deployments.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { noteOutcome, runCheck, step } from '../support/steps.ts';
import { installPythonPackages } from '../verifiers/programs.ts';
import { lintPipeline } from './lint-pipeline.ts';

/** cfn-lint finds that a function depends on its role twice, as the CDK writes it. */
const ignored = ['--ignore-checks', 'W3005'];

/**
 * Has cfn-lint look at the templates of each variant of a deployment: the service, the stack within
 * it, and the edge; and at those of an app that hands in its own resources. Then it lints what
 * deploys them from a pipeline.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.python]);
  const commands = await step('Install cfn-lint', installPythonPackages);
  const directory = cleanUps.adopt(mkdtempSync(join(tmpdir(), 'templates-')), (one) =>
    rmSync(one, { recursive: true }),
  );
  // The CDK takes a while to load.
  const { synthesize } = await import('../support/synthesize.ts');
  const { embeddedApp } = await import('../support/embedded-app.ts');
  const ofVariants = variants.flatMap((given) => {
    const { service, watching, edge } = synthesize(given);
    return [service.template, watching, ...(edge ? [edge.template] : [])];
  });
  const embedded = embeddedApp()
    .app.synth()
    .stacks.map(({ template }) => template);
  const files = [...ofVariants, ...embedded].map((one, index) => {
    const file = join(directory, `${index}.json`);
    writeFileSync(file, JSON.stringify(one, null, 1));
    return file;
  });
  await step(`Lint ${files.length} templates`, () =>
    execa(join(commands, 'cfn-lint'), [...ignored, '--', ...files], shown),
  );
  const others = await step('Lint the pipeline and the Terraform file of docs/pipeline.md', () =>
    lintPipeline(commands),
  );
  noteOutcome({ name: 'templates', passed: files.length + others, failed: 0 });
});
