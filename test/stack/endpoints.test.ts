import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { routeKeyOf } from '../../infra/endpoints.ts';
import { logicalIdOf } from '../../infra/stack/service-function.ts';
import { accesses, endpoints, functions, resources, root, text } from '../support/template.ts';

describe('endpoints', () => {
  const apiRoutes = resources(
    'AWS::ApiGatewayV2::Route',
    v.object({ RouteKey: v.string(), Target: v.unknown() }),
  );
  const integrations = resources(
    'AWS::ApiGatewayV2::Integration',
    v.object({ IntegrationUri: v.unknown(), PayloadFormatVersion: v.string() }),
  );

  test('every endpoint is a route of the API to the live version of its function, and there are no others', () => {
    const inTemplate = apiRoutes.map(({ properties: { RouteKey, Target } }) => {
      const integration = integrations.find(({ id }) => text(Target) === `integrations/${id}`)?.properties;
      return [RouteKey, text(integration?.IntegrationUri), integration?.PayloadFormatVersion];
    });
    const recorded = [...endpoints].map(([key, endpoint]) => [
      routeKeyOf(endpoint),
      `${logicalIdOf(key)}Live`,
      '2.0',
    ]);
    expect(inTemplate.sort()).toEqual(recorded.sort());
  });

  test('every file in functions/ is a function of the stack, and there are no others', () => {
    const files = globSync('*.ts', { cwd: join(root, 'functions') });
    expect(files.map((file) => basename(file, '.ts')).sort()).toEqual(accesses.map(([key]) => key).sort());
    expect(functions.map(({ id }) => id).sort()).toEqual(accesses.map(([key]) => logicalIdOf(key)).sort());
  });
});
