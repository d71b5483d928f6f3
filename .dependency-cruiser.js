// The floors of the house, from the lowest up. A file imports from its own room and from floors below; rooms on one floor
// know nothing of each other.
const floors = [
  ['lib/[^/]+\\.ts'],
  ['lib/errors/'],
  ['lib/log/', 'lib/schema/'],
  ['lib/secrets/'],
  ['lib/storage/'],
  [
    'lib/access-requests/',
    'lib/accounts/',
    'lib/login-users/',
    'lib/provider-settings/',
    'lib/signing-keys/',
  ],
  ['lib/login-apps/', 'lib/providers/'],
  ['lib/devices/', 'lib/identities/', 'lib/publishing/'],
  ['lib/sessions/'],
  ['lib/offboarding/', 'lib/tokens/'],
  ['lib/auth/'],
  ['lib/http/'],
  ['lib/deployment/'],
  ['lib/operator/'],
  ['functions/'],
  ['infra/(?!app)[^/]+\\.ts'],
  ['infra/settings/'],
  ['infra/stack/'],
  ['infra/app\\.ts'],
  ['infra/docs/'],
  ['infra/local/'],
  ['infra/operator/'],
  ['test/'],
];

const forbidden = floors.flatMap((rooms, floor) =>
  rooms.map((room) => ({
    name: `imports-of-${room
      .replace(/[^a-z]+/g, ' ')
      .trim()
      .replaceAll(' ', '-')}`,
    severity: 'error',
    from: { path: `^${room}` },
    to: {
      path: [...rooms.filter((other) => other !== room), ...floors.slice(floor + 1).flat()].map(
        (one) => `^${one}`,
      ),
    },
  })),
);

export default {
  forbidden,
  options: {
    doNotFollow: { path: 'node_modules' },
    parser: 'swc',

    exclude: { path: 'node_modules' },
  },
};
