// The floors of the house, from the lowest up. A file imports from its own room and from floors below; rooms on one floor
// know nothing of each other.
const floors = [
  ['lib/foundation/'],
  ['lib/log/', 'lib/schema/', 'lib/storage/'],
  ['lib/login-users/', 'lib/secrets/'],
  ['lib/access-requests/', 'lib/login-apps/', 'lib/signing/'],
  ['lib/devices/', 'lib/providers/'],
  ['lib/people/', 'lib/publishing/'],
  ['lib/tokens/'],
  ['lib/http/', 'lib/release/'],
  ['lib/operator/'],
  ['functions/'],
  ['infra/(?!app)[^/]+\\.ts'],
  ['infra/settings/'],
  ['infra/stack/'],
  ['infra/app\\.ts'],
  ['infra/docs/'],
  ['infra/local/'],
  ['infra/operator/'],
  ['infra/package/'],
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
