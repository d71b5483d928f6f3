import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { installPython, shown } from '../support/commands.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { startService } from '../support/start-service.ts';
import { print, runCheck, step } from '../support/steps.ts';

const directory = import.meta.dirname;

/**
 * Has Schemathesis fuzz the local stack by the API document. `--seed NUMBER` replaces the
 * configured seed.
 */
runCheck(async (cleanUps) => {
  const { seed } = parseArgs({ options: { seed: { type: 'string' } } }).values;
  await requireTools([tools.python]);
  const commands = await step('Install Schemathesis', () =>
    installPython('schemathesis', join(directory, 'requirements.txt')),
  );
  const service = await step('Start the service', () => startService({ LOG_LEVEL: 'ERROR' }));
  cleanUps.defer(() => service.stop());
  const options = ['--no-color', ...(seed === undefined ? [] : ['--seed', seed])];
  const words = ['--config-file', join(directory, 'schemathesis.toml'), 'run', ...options];
  const env = {
    PYTHONPATH: directory,
    PYTHONDONTWRITEBYTECODE: '1',
    DEMO_FILE: join(service.directory, 'demo.json'),
  };
  const document = `${service.demo.base_url}/openapi.json`;
  await step('Fuzz it', () =>
    execa(join(commands, 'schemathesis'), [...words, document], { ...shown, env }),
  );
  print('\nThe fuzzer has found nothing.');
});
