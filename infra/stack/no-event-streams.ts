/**
 * Stands for the SDK's module of event streams, which some clients import and nothing here uses.
 */
export const eventStreamSerdeProvider = () => undefined;

export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;

/**
 * The SDK creates one for each operation that streams events.
 * @throws Error always
 */
export class EventStreamSerde {
  constructor() {
    throw new Error('The bundle has no event streams: infra/stack/bundling.ts leaves them out.');
  }
}
