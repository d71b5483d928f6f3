import { App } from 'aws-cdk-lib';
import { readDeployment } from './deployment-file.ts';
import { readFunctions } from './endpoints.ts';
import { SettingsError } from './settings.ts';
import { LoginService } from './stack/login-service.ts';

try {
  const app = new App();
  new LoginService(app, readDeployment(app.node.getAllContext()), await readFunctions());
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
