import { readFileSync } from 'node:fs';
import { logReasons } from '../../lib/foundation/reasons.ts';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { logEvents } from '../../lib/log/events.ts';
import { metrics } from '../../lib/log/metrics.ts';
import { parametersOf } from '../../lib/providers/parameters.ts';
import {
  authorizationCodeProvider,
  type ProviderId,
  providerIds,
} from '../../lib/providers/provider-ids.ts';
import { protocolOf } from '../../lib/providers/providers.ts';
import { publishedEvents } from '../../lib/publishing/published-events.ts';
import { byPath } from '../endpoints.ts';
import { settingsSchema } from '../settings/setting-records.ts';
import { tags } from './openapi/document.ts';

export type Table = [head: string[], rows: string[][]];

const code = (text: string): string => `\`${text}\``;

/** The generated tables of each page, by the names of their blocks. */
export const tables = (endpoints: AnyEndpoint[]): Record<string, Record<string, Table>> => ({
  'README.md': {
    endpoints: [
      ['Group', 'Endpoints'],
      tags.map(({ name, description }) => [
        `**${name}.** ${description}`,
        inOrderOfUse(endpoints.filter(({ document }) => document.tag === name))
          .map(({ route }) => code(route))
          .join('<br>'),
      ]),
    ],
    rooms: [['Room', 'Owns'], roomRows()],
  },
  'docs/providers.md': {
    providers: [
      ['Provider', 'Protocol', 'The app sends'],
      providerIds.map((id) => [code(id), protocolOf(id).title, sentTo(id)]),
    ],
  },
  'docs/settings.md': {
    settings: [
      ['Setting', 'Meaning', 'Allowed', 'Default'],
      Object.entries(settingsSchema.entries).map(([name, { meaning, allowed, defaultText }]) => [
        code(name),
        meaning,
        allowed,
        defaultText,
      ]),
    ],
  },
  'docs/events.md': {
    'published-events': [
      ['Type', 'Published when', 'Fields of its own'],
      Object.entries(publishedEvents).map(([type, { when, detail }]) => [
        code(type),
        when,
        Object.keys(detail.entries)
          .filter((name) => !['id', 'sequence', 'occurred_at'].includes(name))
          .map(code)
          .join(', '),
      ]),
    ],
  },
  'docs/watching.md': {
    events: [
      ['Event', 'Written when', 'Its own fields'],
      Object.entries(logEvents).map(([event, { when, fields }]) => [
        code(event),
        when,
        Object.entries(fields)
          .map(([name, { text }]) => `${code(name)}: ${text}`)
          .join('; '),
      ]),
    ],
    reasons: [
      ['Reason', 'Meaning'],
      Object.entries(logReasons).map(([reason, meaning]) => [code(reason), meaning]),
    ],
    metrics: [
      ['Metric', 'Line', 'By'],
      metrics.map((metric) => [
        code(metric.name),
        [
          metric.of.map(code).join(', '),
          ...('with' in metric
            ? Object.values(metric.with).map((value) => `with ${code(value)}`)
            : []),
          ...('without' in metric
            ? Object.values(metric.without).map((value) => `without ${code(value)}`)
            : []),
        ].join(' '),
        metric.by.map((one) => [one].flat().join(' and ')).join(', '),
      ]),
    ],
  },
});

/**
 * Sorts the endpoints of a group: the token first, then from general to particular, deletions last.
 */
function inOrderOfUse(endpoints: AnyEndpoint[]): AnyEndpoint[] {
  const placeOf = ({ route }: AnyEndpoint): number =>
    (route.startsWith('DELETE') ? 100 : 0) +
    (route.endsWith('/token') ? 0 : route.split('/').length);
  return endpoints.sort((a, b) => placeOf(a) - placeOf(b) || byPath(a, b));
}

function sentTo(id: ProviderId): string {
  const { required, optional } = parametersOf(id);
  const sent = [...required.map(code), ...optional.map((name) => `${code(name)} (optional)`)];
  return `${sent.join(', ')}${id === authorizationCodeProvider ? '; or `authorization_code`' : ''}`;
}

/** The rooms, from the top floor down. */
const rooms = [
  'functions',
  'infra',
  'infra/package',
  'infra/operator',
  'infra/local',
  'infra/docs',
  'infra/stack',
  'infra/settings',
  'lib/operator',
  'lib/release',
  'lib/http',
  'lib/tokens',
  'lib/people',
  'lib/publishing',
  'lib/providers',
  'lib/devices',
  'lib/login-apps',
  'lib/signing',
  'lib/access-requests',
  'lib/login-users',
  'lib/secrets',
  'lib/log',
  'lib/storage',
  'lib/schema',
  'lib/foundation',
];

/** A row for each room, with the paragraph that its own README.md consists of. */
const roomRows = (): string[][] =>
  rooms.map((room) => {
    const paragraph = readFileSync(`${room}/README.md`, 'utf8');
    return [`[${code(`${room}/`)}](${room}/)`, paragraph.trim().replaceAll('\n', ' ')];
  });
