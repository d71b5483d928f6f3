import * as v from 'valibot';
import { oauth1SettingsSchema } from './oauth1/settings.ts';
import { oauth2SettingsSchema } from './oauth2/settings.ts';
import { combineIssuers, oidcSettingsSchema } from './oidc/settings.ts';
import type { ProviderId } from './provider-ids.ts';
import type { MergeResult, SettingsInput } from './settings/given-settings.ts';
import { hostAt, issuerAt, keepNamespace } from './settings/namespace.ts';

/** A protocol, as operators set up a provider that speaks it. */
interface ProtocolDefinition<Name extends string, Settings extends v.GenericSchema<unknown, object>> {
  name: Name;
  /** The name that people know: `OAuth 2.0`. */
  title: string;
  /** The schema of the settings. Fields named `…_secret` are stored encrypted. */
  settings: Settings;
  /**
   * Combines stored settings with new ones that an operator gives, which have been checked.
   * @param current what is stored, with its secrets encrypted
   */
  combine: (
    checked: v.InferOutput<Settings>,
    given: SettingsInput,
    current: object | undefined,
  ) => MergeResult;
}

/** Makes a protocol of its definition, so that callers need not know the type of its settings. */
const protocol = <const Name extends string, Settings extends v.GenericSchema<unknown, object>>({
  combine,
  ...definition
}: ProtocolDefinition<Name, Settings>) => ({
  ...definition,
  combine: (given: SettingsInput, current: object | undefined): MergeResult =>
    combine(v.parse(definition.settings, given.settings), given, current),
});

export const oauth1Protocol = protocol({
  name: 'oauth1',
  title: 'OAuth 1.0',
  settings: oauth1SettingsSchema,
  combine: keepNamespace(hostAt('verify_url')),
});

export const oauth2Protocol = protocol({
  name: 'oauth2',
  title: 'OAuth 2.0',
  settings: oauth2SettingsSchema,
  combine: keepNamespace(hostAt('user_info.url'), issuerAt('audience_validation.issuer')),
});

export const oidcProtocol = protocol({
  name: 'oidc',
  title: 'OpenID Connect',
  settings: oidcSettingsSchema,
  combine: combineIssuers,
});

/** The protocol of each provider, fixed by the interface. */
export const protocols = {
  provider_a: oauth2Protocol,
  provider_b: oauth2Protocol,
  provider_c: oauth1Protocol,
  provider_d: oauth2Protocol,
  provider_e: oauth2Protocol,
  provider_f: oidcProtocol,
} as const satisfies Record<ProviderId, unknown>;

export type FamilyName = (typeof protocols)[ProviderId]['name'];
