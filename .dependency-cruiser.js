// The floors of the house, from the lowest up. A file imports from its own room and from floors below; rooms on one floor
// know nothing of each other.
const rooms = [
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
  ['infra/(?!app)[^/]+\\.ts', 'infra/operator/(call|files)/'],
  ['infra/settings/'],
  ['infra/stack/'],
  ['infra/app\\.ts'],
  ['infra/docs/'],
  ['infra/local/'],
  ['infra/operator/(?!call/|files/)'],
  ['infra/package/'],
  ['test/'],
];

// The floors within the room of the providers, whose folders and files follow the same rule.
const partsOfProviders = [
  ['provider-ids\\.ts', 'received-token\\.ts', 'service-nonce\\.ts'],
  ['parameters\\.ts', 'settings/'],
  ['calls/'],
  ['jwt/', 'protocol\\.ts'],
  ['codes/', 'oauth1/', 'stored/'],
  ['oidc/', 'provider-token\\.ts', 'public-clients\\.ts', 'token-audience\\.ts'],
  ['oauth2/'],
  ['notifications/', 'providers\\.ts'],
  ['set-up/'],
].map((parts) => parts.map((part) => `lib/providers/${part}`));

const rulesOf = (floors) =>
  floors.flatMap((places, floor) => {
    const above = floors.slice(floor + 1).flat();
    return places.flatMap((place) => {
      const beside = places.filter((other) => other !== place);
      const closed = [...beside, ...above];
      // A rule without paths would forbid every import.
      if (closed.length === 0) return [];
      return {
        name: `imports-of-${nameOf(place)}`,
        severity: 'error',
        from: { path: `^${place}` },
        to: { path: closed.map((other) => `^${other}`) },
      };
    });
  });

const nameOf = (place) =>
  place
    .replace(/[^a-z\d]+/g, ' ')
    .trim()
    .replaceAll(' ', '-');

export default {
  forbidden: [
    ...rulesOf(rooms),
    ...rulesOf(partsOfProviders),
    {
      name: 'no-cycles-between-folders',
      comment: 'Folders of one room do not import from each other in a circle.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^lib/[^/]+/[^/]+$' },
      to: { path: '^lib/[^/]+/[^/]+$', circular: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    parser: 'swc',

    exclude: { path: 'node_modules' },
  },
};
