import { describe, expect, test } from '@jest/globals';
import { identityIdsOf, newAccount, subOf } from '../support/account.ts';
import { expectError } from '../support/expectations.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';

const { running, service } = await ownService({}, { movableClock: true });

const needsLogin = { status: 401, error: 'insufficient_user_authentication' };

describe('a stolen access token', () => {
  test('[RFC 9470 3] links no identity of the thief, unlinks none of the owner and deletes nothing, so the owner keeps the account', async () => {
    const { account: stolen, subject, loginUserId } = await newAccount(service);
    const linked = (await stolen.linkAt('provider_a', unique('own'))).body.id;
    const identities = identityIdsOf(await stolen.show());
    running.advance(901);

    const thief = unique('thief');
    expectError(await stolen.linkAt('provider_a', thief), needsLogin);
    for (const id of [...identities, linked]) expectError(await stolen.unlink(id), needsLogin);
    expectError(await stolen.remove(), needsLogin);
    expect((await stolen.endSessions('?except=current')).status).toBe(204);

    const owner = await service.logIn(subject);
    expect(subOf(owner)).toBe(loginUserId);
    expect(identityIdsOf(await stolen.show())).toEqual(identities);
    expect(subOf(await service.logIn(thief, 'provider_a'))).not.toBe(loginUserId);
  });
});
