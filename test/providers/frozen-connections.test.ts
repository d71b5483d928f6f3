import type { Socket } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { serve } from '../../infra/local/loopback-server.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { logIn, prepareLogin, targets } from '../support/provider-targets.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();

/** Every path that was asked for, also in vain. */
const asked: string[] = [];
const used = new WeakSet<Socket>();
/**
 * The stand-in behind connections that take one request each: any other is reset, as after a
 * freeze.
 */
const frozen = await serve(async (request, response) => {
  const { socket, url = '' } = request;
  asked.push(url.split('?')[0] ?? '');
  if (used.has(socket)) return void socket.resetAndDestroy();
  used.add(socket);
  const answer = await fetch(`${standIn.url}${url}`);
  response
    .writeHead(answer.status, { 'content-type': 'application/json' })
    .end(await answer.text());
});
afterAll(() => frozen.close());

/** The keys of an issuer are read once a day, so no two logins call it. */
const { discovery, keys, ...calledByEachLogin } = targets;

/** No connection can be used twice. */
test.each(Object.values(calledByEachLogin))(
  '$name: three logins in a row succeed',
  async (target) => {
    const scene = standIn.openScene();
    const base = scene.url.replace(standIn.url, frozen.url);
    const login = await prepareLogin(service, scene, target, base);
    const statuses: number[] = [];
    for (const _ of 'abc') statuses.push((await logIn(service, login)).status);
    expect(statuses).toEqual([200, 200, 200]);
    const path = new URL(`${base}/${target.endpoint}`).pathname;
    // Each sends its credential once.
    expect(asked.filter((one) => one === path)).toHaveLength(3);
  },
);
