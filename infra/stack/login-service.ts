import { CfnOutput, Stack } from 'aws-cdk-lib';
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { Construct } from 'constructs';
import { routes } from '../../lib/routes.ts';
import { functionsWithoutRoute } from './functions-without-route.ts';
import { ServiceFunction } from './service-function.ts';
import { ServiceSecrets } from './service-secrets.ts';
import { ServiceTable } from './service-table.ts';
import { SigningKeyRotation } from './signing-key-rotation.ts';

/** The whole service: an HTTP API with one function per endpoint, the table, the secrets, and the operator's function. */
export class LoginService extends Stack {
  constructor(scope: Construct, name: string) {
    super(scope, name, { description: 'A login and access-request service' });
    const table = new ServiceTable(this, 'Table');
    const secrets = new ServiceSecrets(this, 'Secrets').named;
    const api = new HttpApi(this, 'Api', { apiName: name });

    for (const [key, route] of Object.entries(routes)) {
      const { lambda } = new ServiceFunction(this, key, {
        access: route,
        table,
        secrets,
        environment: { ISSUER: api.apiEndpoint },
      });
      api.addRoutes({
        path: route.path,
        methods: [HttpMethod[route.method]],
        integration: new HttpLambdaIntegration(key, lambda),
      });
    }

    const operator = new ServiceFunction(this, 'operator', {
      access: functionsWithoutRoute.operator,
      table,
      secrets,
      functionName: `${name}-operator`,
    });

    const rotation = new ServiceFunction(this, 'rotate-signing-keys', {
      access: functionsWithoutRoute['rotate-signing-keys'],
      table,
      secrets,
    });
    new SigningKeyRotation(this, 'SigningKeyRotation', secrets['signing-keys'], rotation.lambda);

    new CfnOutput(this, 'ApiUrl', { value: api.apiEndpoint });
    new CfnOutput(this, 'TableName', { value: table.tableName });
    new CfnOutput(this, 'OperatorFunctionName', { value: operator.lambda.functionName });
  }
}
