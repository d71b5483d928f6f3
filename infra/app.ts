import { App } from 'aws-cdk-lib';
import { readDeployment } from './settings/deployment-file.ts';
import { SettingsError } from './settings/settings.ts';
import { deployService } from './stack/deployment.ts';

try {
  const app = new App();
  deployService(app, readDeployment(app.node.getAllContext()));
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
