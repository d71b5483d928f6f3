import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as v from 'valibot';

const header = v.object({
  required: v.optional(v.boolean()),
  schema: v.record(v.string(), v.unknown()),
});
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

// Another test validates the document itself.
const ajv = new Ajv2020({ strict: false, allErrors: true, meta: false, validateSchema: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'document', components: closed(document.components) });

/**
 * A schema that allows no fields but the ones it lists: a response must not hold what is not
 * documented.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [name, closed(part)]),
  );
  const ref = typeof parts.$ref === 'string' ? { $ref: `document${parts.$ref}` } : {};
  const isOpen = parts.properties instanceof Object && parts.additionalProperties === undefined;
  return { ...parts, ...ref, ...(isOpen && { additionalProperties: false }) };
}

const paths = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** What the gateway itself answers, wherever no route is. */
const noRoute: v.InferOutput<typeof response> = {
  content: { 'application/json': { schema: { const: { message: 'Not Found' } } } },
};

/** Every header that some response of the document has: in all others it must not appear. */
const headerNames = new Set(
  Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ responses }) => Object.values(responses))
    .flatMap((one) => Object.keys(resolved(one, response)?.headers ?? {})),
);

const validators = new Map<string, ValidateFunction>();

/** `fetch`, for a test or a client library: holds each response against the API document. */
export async function documentedFetch(
  url: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  const answer = await fetch(url, init);
  assertDocumented(init.method ?? 'GET', answer.url, answer, await answer.clone().text());
  return answer;
}

/**
 * Checks a response against the API document: its status, headers, media type and body.
 * @throws AssertionError
 */
export function assertDocumented(
  method: string,
  url: string,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  text: string,
): void {
  const { pathname } = new URL(url);
  const path = paths.find(({ pattern }) => pattern.test(pathname))?.path ?? pathname;
  const { responses } = document.paths[path]?.[method.toLowerCase()] ?? {
    responses: { 404: noRoute },
  };
  const where = `${method} ${path} ${status}`;
  const documented = resolved(responses[String(status)], response);
  assert.ok(documented, `${where} is not documented; there are ${Object.keys(responses)}.`);
  // HEAD never gets a body (RFC 9110, section 9.3.2).
  const content = method === 'HEAD' ? {} : (documented.content ?? {});
  const problems = [
    ...headerProblems(where, documented.headers ?? {}, headers),
    ...bodyProblems(where, content, headers.get('content-type'), text),
  ];
  // A 500 of the local gateway names the right that a record lacks.
  const said = status === 500 ? `: ${text}` : '';
  assert.deepEqual(problems, [], `${where} is not as documented${said}`);
}

function headerProblems(
  where: string,
  documented: NonNullable<v.InferOutput<typeof response>['headers']>,
  headers: Headers,
): string[] {
  return [...headerNames].flatMap((name) => {
    const value = headers.get(name);
    const one = documented[name];
    if (one === undefined) return value === null ? [] : [`it has the header ${name}`];
    const { required, schema } = v.parse(header, resolved(one, header));
    return required || value !== null ? problemsOf(`${where} ${name}`, schema, value) : [];
  });
}

function bodyProblems(
  where: string,
  content: NonNullable<v.InferOutput<typeof response>['content']>,
  type: string | null,
  text: string,
): string[] {
  const types = Object.keys(content);
  // Without a body, API Gateway may add a type of its own, which means nothing.
  if (types.length === 0) return text === '' ? [] : ['it has a body'];
  const documented = content[type ?? ''];
  if (!documented) return [`its type is ${type}, not ${types}`];
  return problemsOf(where, documented.schema, JSON.parse(text));
}

function resolved<Output>(
  value: unknown,
  schema: v.GenericSchema<unknown, Output>,
): Output | undefined {
  const reference = v.safeParse(v.object({ $ref: v.string() }), value);
  if (!reference.success) return v.is(schema, value) ? v.parse(schema, value) : undefined;
  const [, ...path] = reference.output.$ref.split('/');
  const found = path.reduce<unknown>((part, name) => Reflect.get(Object(part), name), document);
  return v.parse(schema, found);
}

function problemsOf(where: string, schema: unknown, value: unknown): string[] {
  const validate =
    validators.get(where) ??
    ajv.compile(v.parse(v.record(v.string(), v.unknown()), closed(schema)));
  validators.set(where, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
  );
}
