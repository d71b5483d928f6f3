import { guestGrant, tokenExchange } from '../../lib/login-apps/client-metadata.ts';
import { compareVersions, type Release } from './releases.ts';

/** Names that a version added to answers or to the settings of providers. */
interface Names {
  /** Settings of providers. */
  settings: string[];
  /** Methods by which clients authenticate. */
  methods: string[];
  /** Grants of clients. */
  grants: string[];
  /** Fields of access requests, sessions and identities. */
  fields: string[];
  /** Parameters of logins. */
  parameters: string[];
  /** Addresses in the sandbox's settings, which each start makes anew. */
  addresses: string[];
}

const addedBy: Record<string, Names> = {
  '1.1.0': {
    settings: [
      'login_claims',
      'hook_claims',
      'code_exchange',
      'user_profile',
      'notifications',
      'pkce',
      'nonce_form',
      'app_errors',
      'throttled_errors',
      'proof_secret',
      'signature',
      'tenants',
    ],
    methods: ['private_key_jwt', 'none'],
    grants: [],
    fields: ['title', 'approvals_needed', 'decision', 'approvals', 'identity_id'],
    parameters: ['authorization_code', 'code_verifier', 'redirect_uri', 'user'],
    addresses: ['http://localhost:8080/callback'],
  },
  '1.2.0': {
    settings: ['keep_tokens', 'long_lived_tokens'],
    methods: [],
    grants: [tokenExchange, guestGrant],
    fields: ['provider_access', 'guest', 'guest_until', 'guests'],
    parameters: [],
    addresses: [],
  },
};

/** Names that today's code has and a release does not know. */
export function unknownTo({ version }: Release): Names {
  const later = Object.entries(addedBy)
    .filter(([since]) => compareVersions(since, version) > 0)
    .map(([, names]) => names);
  return {
    settings: later.flatMap(({ settings }) => settings),
    methods: later.flatMap(({ methods }) => methods),
    grants: later.flatMap(({ grants }) => grants),
    fields: later.flatMap(({ fields }) => fields),
    parameters: later.flatMap(({ parameters }) => parameters),
    addresses: later.flatMap(({ addresses }) => addresses),
  };
}
