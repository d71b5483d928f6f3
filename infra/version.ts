import packageJson from '../package.json' with { type: 'json' };

/** Whether this code is that of the installed package, where it is JavaScript, and not that of a clone. */
export const isInstalled = import.meta.filename.endsWith('.js');

/** The commands of the operator and of the stack on this machine, as somebody types them here. */
export const operatorCommand = isInstalled ? 'npx login-service operator' : 'npm run -s operator --';
export const startCommand = isInstalled ? 'npx login-service start' : 'npm start';

export const { version } = packageJson;

/** The description of every stack of the service. `npm run operator` recognises them by it. */
export const stackDescription = 'A login and access-request service';

/** The output of every stack of the service that says which version of the code was deployed. */
export const versionOutput = 'Version';

/** The tag that CloudFormation gives to the stacks of a deployment and to all their resources: the deployed version. */
export const versionTag = 'login-service:version';
