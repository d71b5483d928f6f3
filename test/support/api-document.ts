import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as v from 'valibot';

/** What the check needs of the committed document. */
const header = v.object({ required: v.optional(v.boolean()), schema: v.record(v.string(), v.unknown()) });
const response = v.object({
  headers: v.optional(v.record(v.string(), v.union([v.object({ $ref: v.string() }), header]))),
  content: v.optional(v.record(v.string(), v.object({ schema: v.unknown() }))),
});
const operation = v.looseObject({
  responses: v.record(v.string(), v.union([v.object({ $ref: v.string() }), response])),
});
const document = v.parse(
  v.looseObject({
    paths: v.record(v.string(), v.record(v.string(), operation)),
    components: v.looseObject({}),
  }),
  JSON.parse(readFileSync('docs/openapi.json', 'utf8')),
);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: 'document', components: closed(document.components) });

/** A schema that allows no fields but the ones it lists: a response must not hold what is not documented. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  const ref = typeof parts.$ref === 'string' ? { $ref: `document${parts.$ref}` } : {};
  const isOpen = parts.properties instanceof Object && parts.additionalProperties === undefined;
  return { ...parts, ...ref, ...(isOpen && { additionalProperties: false }) };
}

const paths = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}));

const validators = new Map<string, ValidateFunction>();

interface Response {
  status: number;
  headers: Headers;
  body: unknown;
}

/**
 * Holds a response against the API document: a status that is listed, the headers, and a body with no field that is
 * not documented. Responses of the gateway itself, to what is no route, are not the document's.
 * @throws AssertionError
 */
export function assertDocumented(method: string, url: string, { status, headers, body }: Response): void {
  const { pathname } = new URL(url);
  const path = paths.find(({ pattern }) => pattern.test(pathname))?.path;
  const found = path && document.paths[path]?.[method.toLowerCase()];
  if (!found) return;
  const where = `${method} ${path} ${status}`;
  const documented = resolved(found.responses[String(status)], response);
  assert.ok(documented, `${where} is not documented; there are ${Object.keys(found.responses)}.`);
  const problems = Object.entries(documented.headers ?? {}).flatMap(([name, one]) => {
    const { required, schema } = v.parse(header, resolved(one, header));
    const value = headers.get(name);
    return required || value !== null ? problemsOf(`${where} ${name}`, schema, value) : [];
  });
  const schema = documented.content?.['application/json']?.schema;
  if (schema !== undefined) problems.push(...problemsOf(where, schema, body));
  else if (body !== undefined) problems.push('it has a body');
  assert.deepEqual(problems, [], `${where} is not as documented`);
}

function resolved<Output>(value: unknown, schema: v.GenericSchema<unknown, Output>): Output | undefined {
  const reference = v.safeParse(v.object({ $ref: v.string() }), value);
  if (!reference.success) return v.is(schema, value) ? v.parse(schema, value) : undefined;
  const found = reference.output.$ref
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (part, name) => (part instanceof Object ? Reflect.get(part, name) : undefined),
      document,
    );
  return v.parse(schema, found);
}

function problemsOf(where: string, schema: unknown, value: unknown): string[] {
  const validate =
    validators.get(where) ?? ajv.compile(v.parse(v.record(v.string(), v.unknown()), closed(schema)));
  validators.set(where, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
  );
}
