import { App } from 'aws-cdk-lib';
import { readFunctions } from './endpoints.ts';
import { readSettings, SettingsError } from './settings.ts';
import { LoginService } from './stack/login-service.ts';

try {
  const app = new App();
  new LoginService(app, readSettings(app.node.getAllContext()), await readFunctions());
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
