// The CDK app with `settings/` and `stack/`; `local/`, the stack on this machine; `operator/`, the command line;
// `docs/`, what is generated from the code. Nothing of it runs in Lambda.

import { App } from 'aws-cdk-lib';
import { readFunctions } from './endpoints.ts';
import { readDeployment } from './settings/deployment-file.ts';
import { SettingsError } from './settings/settings.ts';
import { Edge, edgeSettings } from './stack/edge.ts';
import { LoginService } from './stack/login-service.ts';

try {
  const app = new App();
  const settings = readDeployment(app.node.getAllContext());
  const service = new LoginService(app, settings, await readFunctions());
  const edge = edgeSettings(settings);
  if (edge) new Edge(app, service, edge);
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
