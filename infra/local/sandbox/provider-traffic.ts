import type { Fault } from './faults.ts';
import type { EndpointName } from './sandbox-provider.ts';

/** How often each endpoint of one provider was called, and which of them misbehave. */
export class ProviderTraffic {
  readonly calls: Record<EndpointName, number> = {
    user_info: 0,
    audience_validation: 0,
    token: 0,
    verify: 0,
    discovery: 0,
    jwks: 0,
  };
  readonly #faults = new Map<EndpointName, Fault | null>();

  setFault(endpoint: EndpointName, fault: Fault | null): void {
    this.#faults.set(endpoint, fault);
  }

  /** Counts the call and says what is to go wrong with it. */
  receive(endpoint: EndpointName): Fault | null {
    this.calls[endpoint] += 1;
    return this.#faults.get(endpoint) ?? null;
  }
}
