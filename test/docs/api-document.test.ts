import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as v from 'valibot';
import { readFunctions } from '../../infra/endpoints.ts';
import { sharedService } from '../support/service.ts';

const text = readFileSync('docs/openapi.json', 'utf8');
const schema = v.looseObject({ $ref: v.optional(v.string()) });
type Schema = v.InferOutput<typeof schema>;
const media = v.looseObject({
  schema,
  example: v.optional(v.unknown()),
  examples: v.optional(v.record(v.string(), v.object({ value: v.unknown() }))),
});
const withContent = v.looseObject({ content: v.optional(v.record(v.string(), media), {}) });
const link = v.looseObject({
  operationId: v.string(),
  parameters: v.optional(v.record(v.string(), v.string()), {}),
});
const operation = v.looseObject({
  operationId: v.string(),
  parameters: v.optional(v.array(v.looseObject({ name: v.string() })), []),
  summary: v.string(),
  description: v.string(),
  requestBody: v.optional(withContent),
  responses: v.record(v.string(), v.union([v.object({ $ref: v.string() }), withContent])),
});
const document = v.parse(
  v.looseObject({
    paths: v.record(v.string(), v.record(v.string(), operation)),
    components: v.looseObject({ schemas: v.record(v.string(), schema) }),
  }),
  JSON.parse(text),
);
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => ({
    name: `${method.toUpperCase()} ${path}`,
    ...one,
  })),
);

test("Redocly's recommended rules find nothing, but for what has a reason", async () => {
  const rules = {
    // The address is that of each deployment; openapi.json as served names it.
    'no-server-example.com': 'off',
    // The metadata that anybody may read has no error that a caller could cause.
    'operation-4xx-response': 'off',
  } as const;
  const config = await createConfig({ extends: ['recommended'], rules });
  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
  expect(
    problems.map(({ ruleId, message, location: [place] }) => [ruleId, message, place?.pointer]),
  ).toEqual([]);
});

describe.each(operations)('$name', ({ summary, description, requestBody, responses }) => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', components: document.components });
  const problemsOf = (schema: object, value: unknown) => {
    const resolved = JSON.parse(
      JSON.stringify(schema).replaceAll('"#/components', '"document#/components'),
    );
    return ajv.validate(resolved, value) ? [] : ajv.errors;
  };
  /** What a schema, or the component that it refers to, says beside its title and description. */
  const saidBy = ({ $ref, title, description, ...rest }: Schema): object => {
    if ($ref === undefined) return rest;
    const component = document.components.schemas[$ref.replace('#/components/schemas/', '')];
    return component === undefined ? {} : saidBy(component);
  };
  const bodies = [requestBody, ...Object.values(responses)]
    .map((one) => v.safeParse(withContent, one))
    .flatMap(({ success, output }) =>
      success ? Object.values(v.parse(withContent, output).content) : [],
    );

  test('says what it does, and has no body of any form', () => {
    expect(summary.length).toBeGreaterThan(10);
    expect(description.length).toBeGreaterThan(summary.length);
    for (const { schema } of bodies) expect(saidBy(schema)).not.toEqual({});
  });

  test('its examples are as its schemas say', () => {
    for (const { schema, example, examples = {} } of bodies) {
      const values = [
        ...(example === undefined ? [] : [example]),
        ...Object.values(examples).map(({ value }) => value),
      ];
      expect(values.length).toBeGreaterThan(0);
      for (const value of values) expect(problemsOf(schema, value)).toEqual([]);
    }
  });
});

const exampleBodies = [...readFunctions().endpoints].flatMap(([key, { body, document }]) => {
  const { example } = document;
  const values = [...Object.values(example?.bodies ?? {}), example?.body];
  const sent = values.filter((value) => value !== undefined);
  return body ? sent.map((value) => [key, body.schema, value] as const) : [];
});

test.each(exampleBodies)('%s reads its own example', (_, schema, value) => {
  const { issues = [] } = v.safeParse(schema, value);
  expect(issues.map(({ message }) => message)).toEqual([]);
});

describe('links', () => {
  const links = operations.flatMap(({ name, responses }) =>
    Object.values(responses)
      .map((one) =>
        v.parse(v.looseObject({ links: v.optional(v.record(v.string(), link), {}) }), one),
      )
      .flatMap((one) =>
        Object.entries(one.links).map(([to, target]) => [`${name}: ${to}`, target] as const),
      ),
  );

  test.each(links)(
    '%s leads to an operation with these parameters',
    (_, { operationId, parameters, ...one }) => {
      const target = operations.find((operation) => operation.operationId === operationId);
      const names = target?.parameters.map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(Object.keys(parameters)));
      if (one['x-request-body'] !== undefined) expect(target?.requestBody).toBeDefined();
    },
  );
});

test('GET /openapi.json: the committed document, with the address of the service; anybody may cache it', async () => {
  const service = sharedService();
  const { status, headers, body } = await service.call('/openapi.json');
  const { body: metadata } = await service.call('/.well-known/oauth-authorization-server');
  expect(status).toBe(200);
  expect(headers.get('cache-control')).toBe('public, max-age=3600');
  expect(body).toEqual({ ...JSON.parse(text), servers: [{ url: metadata.issuer }] });
});
