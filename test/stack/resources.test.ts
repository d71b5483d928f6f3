import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { template } from '../support/template.ts';

const resource = v.object({ Type: v.string(), DeletionPolicy: v.optional(v.string()) });

/**
 * A logical id that changes is a resource that is made anew, and its old one deleted or left behind: for the table
 * and the secrets that would be the loss of all that they hold.
 */
test('a deployment makes these resources, under these logical ids', () => {
  const { Resources } = v.parse(v.object({ Resources: v.record(v.string(), resource) }), template.toJSON());
  const lines = Object.entries(Resources).map(([id, { Type, DeletionPolicy = '' }]) => {
    // The id of a version is a hash of the code.
    const stableId = id.replace(/(CurrentVersion\w{8})\w{32}$/, '$1…');
    return `${Type} ${stableId} ${DeletionPolicy}`.trim();
  });
  expect(lines.sort().join('\n')).toMatchSnapshot();
});
