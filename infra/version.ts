import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };

/** Whether this is the installed package, which is JavaScript, and not a clone. */
export const isInstalled = !import.meta.filename.endsWith('.ts');

/** The folder of the clone, or of the installed package, whose code is in one folder of it. */
export const projectFolder = join(import.meta.dirname, '..');

export const operatorCommand = isInstalled
  ? 'npx login-service operator'
  : 'npm run -s operator --';
export const templateCommand = isInstalled
  ? 'npx login-service template'
  : 'npm run -s template --';
export const startCommand = isInstalled ? 'npx login-service start' : 'npm start';

export const { version } = packageJson;

/** The description of every stack of the service. `npm run operator` recognises them by it. */
export const stackDescription = 'A login and access-request service';

/** The output of every stack of the service with the deployed version. */
export const versionOutput = 'Version';

/** The tag of all stacks and resources of a deployment with the deployed version. */
export const versionTag = 'login-service:version';
