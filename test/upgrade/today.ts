import { withEdge } from '../support/deployments.ts';
import { edgeWith, templateWith } from '../support/template.ts';
import type { Deployable } from './releases.ts';
import { today } from './upgrade-problems.ts';

/**
 * What today's code deploys with a domain and an edge, for tests.
 * @param more settings
 */
export const todayWith = async (more: Record<string, unknown> = {}): Promise<Deployable> =>
  today({
    service: (await templateWith({ ...withEdge, ...more })).toJSON(),
    edge: (await edgeWith(more)).template.toJSON(),
  });
