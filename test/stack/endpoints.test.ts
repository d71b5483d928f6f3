import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { logicalIdOf } from '../../infra/stack/service-function.ts';
import { routes } from '../../lib/routes.ts';
import { accesses, functions, readJson, resources, root, text } from '../support/template.ts';

const stemsIn = (folder: string, extension: string): string[] =>
  readdirSync(join(root, folder)).map((file) => file.replace(extension, ''));

describe('endpoints', () => {
  const apiRoutes = resources(
    'AWS::ApiGatewayV2::Route',
    v.object({ RouteKey: v.string(), Target: v.unknown() }),
  );
  const integrations = resources(
    'AWS::ApiGatewayV2::Integration',
    v.object({ IntegrationUri: v.unknown(), PayloadFormatVersion: v.string() }),
  );

  test('every row of the route table is a route of the API to the live version of the function of its name, and there are no others', () => {
    const inTemplate = apiRoutes.map(({ properties: { RouteKey, Target } }) => {
      const integration = integrations.find(({ id }) => text(Target) === `integrations/${id}`)?.properties;
      return [RouteKey, text(integration?.IntegrationUri), integration?.PayloadFormatVersion];
    });
    const inTable = Object.entries(routes).map(([key, { method, path }]) => [
      `${method} ${path}`,
      `${logicalIdOf(key)}Live`,
      '2.0',
    ]);
    expect(inTemplate.sort()).toEqual(inTable.sort());
  });

  test('every row has a handler file, and every handler file is a row or a function without a route', () => {
    expect(stemsIn('functions', '.ts').sort()).toEqual(accesses.map(([key]) => key).sort());
    expect(functions.map(({ id }) => id).sort()).toEqual(accesses.map(([key]) => logicalIdOf(key)).sort());
  });

  test('every row has an event file', () => {
    expect(stemsIn('test/events', '.json').sort()).toEqual(Object.keys(routes).sort());
  });

  test.each(Object.entries(routes))('the event file of %s is a request to it', (key, { method, path }) => {
    const event = v.parse(eventFile, readJson(`test/events/${key}.json`));
    const routeKey = `${method} ${path}`;
    const rawPath = path.replace('{access_request_id}', '1').replace('{device_id}', `d_${'A'.repeat(43)}`);
    expect(event).toMatchObject({
      version: '2.0',
      routeKey,
      rawPath,
      requestContext: { routeKey, http: { method, path: rawPath } },
    });
    // The gateway hands on forms, and nothing else that is sent here, in base64.
    expect(event.isBase64Encoded).toBe(event.headers['content-type'] === 'application/x-www-form-urlencoded');
  });
});

const eventFile = v.looseObject({ headers: v.record(v.string(), v.string()), isBase64Encoded: v.boolean() });
