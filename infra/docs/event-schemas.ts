import { publishedEvents } from '../../lib/publishing/published-events.ts';
import { jsonSchemaOf } from './openapi/json-schema.ts';

const schemas = Object.entries(publishedEvents).map(([type, { when, detail }]) => ({
  type,
  when,
  own: Object.keys(detail.entries).filter((name) => !['id', 'sequence', 'occurred_at'].includes(name)),
  schema: { description: when, ...jsonSchemaOf(detail, new Map()) },
}));

/** A JSON Schema for the detail of each published event, by its `detail-type`. */
export const eventSchemas = () => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Published events',
  description: 'The detail of each published event, by its detail-type.',
  $defs: Object.fromEntries(schemas.map(({ type, schema }) => [type, schema])),
});

/** The published events as rows of a table, for people. */
export const publishedEventsRows = (): string[][] =>
  schemas.map(({ type, when, own }) => [`\`${type}\``, when, own.map((name) => `\`${name}\``).join(', ')]);
