import { App } from 'aws-cdk-lib';
import { LoginService } from './stack/login-service.ts';

const app = new App();
const name: unknown = app.node.tryGetContext('stack') ?? 'login-service';

new LoginService(app, String(name));
