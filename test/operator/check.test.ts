import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { type LoopbackServer, readBody, serve } from '../../infra/local/loopback-server.ts';
import { readableCheck } from '../../infra/operator/check/run-check.ts';
import { operator } from '../support/operator.ts';

const printed = v.object({
  ok: v.boolean(),
  issuer: v.string(),
  steps: v.array(
    v.object({
      step: v.string(),
      request: v.string(),
      status: v.optional(v.number()),
      milliseconds: v.number(),
      headers: v.optional(v.record(v.string(), v.string())),
      problem: v.optional(v.string()),
    }),
  ),
  problems: v.array(v.string()),
});

test('npm run operator -- check says that a stack works, call by call', async () => {
  const { code, stdout, stderr } = await operator('check', '--local');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const result = v.parse(printed, JSON.parse(stdout));
  expect(result).toMatchObject({ ok: true, problems: [] });
  expect(result.steps.map(({ step, status }) => `${step}: ${status}`)).toEqual([
    'metadata: 200',
    'signing keys: 200',
    'token: 200',
    'search: 200',
    'search without credentials: 401',
  ]);
  expect(result.steps.at(-1)?.headers).toHaveProperty('www-authenticate');
  expect(stdout).not.toMatch(/eyJ|secret/);
});

test('a terminal gets a line for each call, with all headers of its response', () => {
  const text = readableCheck({
    ok: false,
    issuer: 'https://login.example.com',
    version: '1.0.0',
    steps: [
      { step: 'metadata', request: 'GET https://…', status: 200, milliseconds: 41, headers: { etag: 'x' } },
      {
        step: 'search',
        request: 'GET https://…',
        status: 401,
        milliseconds: 1200,
        headers: { 'x-amzn-remapped-www-authenticate': 'Basic' },
        problem: 'Wrong.',
      },
    ],
    problems: ['search: Wrong.'],
  });
  expect(text).toBe(`https://login.example.com
version 1.0.0
metadata  200      41 ms  ok
  etag: x
search    401    1200 ms  WRONG
  x-amzn-remapped-www-authenticate: Basic

search: Wrong.`);
});

/** Something in front of the service, which changes what it says. @param typed when the check runs at a terminal */
async function checkBehind(change: (path: string, text: string) => string | number, typed?: string) {
  const directory = process.env.SERVICE_DIR ?? '';
  const stack = v.parse(
    v.looseObject({ url: v.string(), aws_endpoint: v.string() }),
    JSON.parse(readFileSync(join(directory, 'stack.json'), 'utf8')),
  );
  /** Sends a request on, and has the answer name the gateway where it names the service. */
  const forward = async (
    { method = 'GET', url = '', headers }: IncomingMessage,
    to: string,
    body: Buffer,
  ) => {
    const { authorization = '', 'content-type': type = '' } = headers;
    const answer = await fetch(`${to}${url}`, {
      method,
      headers: { ...(authorization && { authorization }), ...(type && { 'content-type': type }) },
      ...(body.length > 0 && { body }),
    });
    return { status: answer.status, text: (await answer.text()).replaceAll(stack.url, gateway.url) };
  };
  const gateway: LoopbackServer = await serve(async (request, response) => {
    const { status, text } = await forward(request, stack.url, await readBody(request));
    const changed = change(request.url ?? '', text);
    if (typeof changed === 'number') response.writeHead(changed).end('<html>');
    else response.writeHead(status).end(changed);
  });
  const aws = await serve(async (request, response) => {
    const { status, text } = await forward(request, stack.aws_endpoint, await readBody(request));
    response.writeHead(status).end(text);
  });
  try {
    const own = mkdtempSync(join(tmpdir(), 'check-'));
    writeFileSync(join(own, 'stack.json'), JSON.stringify({ ...stack, aws_endpoint: aws.url }));
    const { code, stdout, stderr } = await operator.at(own, typed)('check', '--local');
    expect(stderr).toBe('');
    return { code, stdout };
  } finally {
    await Promise.all([gateway.close(), aws.close()]);
  }
}

const problemsIn = ({ stdout }: { stdout: string }) => v.parse(printed, JSON.parse(stdout)).problems;

test('a failing token route, a token that nobody can verify and a lost challenge are named', async () => {
  const failing = await checkBehind((path, text) => (path.endsWith('/token') ? 502 : text));
  expect(failing.code).toBe(2);
  expect(problemsIn(failing)).toEqual([
    'token: The status is 502 instead of 200. Look for request_failed in the logs of the functions.',
    'search without credentials: The 401 has no WWW-Authenticate header, under no name: something in front of the service drops it.',
  ]);
  // Its issuer is the address of the service itself.
  expect(problemsIn(await checkBehind((_, text) => text))[0]).toBe(
    'token: The token cannot be verified with the published keys, the issuer and the audience: verifiers reject it.',
  );
});

test('nothing that the check was told can steer the terminal or add a line', async () => {
  const issuer = 'http://a\u009b2J\nEverything works.';
  const change = (path: string, text: string) =>
    path.includes('/.well-known/') ? JSON.stringify({ ...JSON.parse(text), issuer }) : text;
  const { stdout } = await checkBehind(change, '');
  expect(stdout).toMatch(/^metadata: The issuer is http:\/\/a\\u009b2J\\u000aEverything works\., not /m);
});
