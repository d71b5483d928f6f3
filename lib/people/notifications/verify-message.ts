import { annotateLog } from '../../log/request-fields.ts';

import {
  type MessageForm,
  notAccepted,
  type Received,
  verifyLogoutToken,
  verifyNotification,
} from '../../providers/notifications/notification.ts';
import { verifySecurityEvents } from '../../providers/notifications/security-events.ts';
import {
  type SignedEvent,
  verifySignedRequest,
} from '../../providers/notifications/signed-request.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import type { StoredSettings } from '../../providers/settings/encryption.ts';
import { findProviderSettingsForAnybody, notSetUp } from '../../providers/settings/stored.ts';
import { settingsOf } from '../../providers/stored/settings-of.ts';

/** A message that somebody has sent to the address for a provider's notifications. */
export interface Message {
  form: MessageForm;
  text: string;
  /** The event of a signed request, which only the query of the address tells. */
  event?: SignedEvent | undefined;
}

/**
 * Verifies a message by the settings of the provider.
 * @throws ServiceError `invalid_request` for a message that is not the provider's, or for a
 *   provider that is not set up for such messages; ProviderFailure
 */
export async function verifyMessage(
  loginAppId: string,
  provider: ProviderId,
  message: Message,
): Promise<Received> {
  const stored = await findProviderSettingsForAnybody(loginAppId, provider);
  if (!stored) throw notSetUp(provider);
  const verify = verifierOf(stored, provider, message);
  annotateLog({ login_app_id: loginAppId, provider });
  try {
    return await verify(message.text);
  } catch (error) {
    throw notAccepted(error, message.form);
  }
}

type Verifier = (text: string) => Promise<Received>;

/** Verifiers of the messages that are a JWT by an issuer. */
const jwtVerifiers = {
  payload: verifyNotification,
  secevent: verifySecurityEvents,
  logout_token: verifyLogoutToken,
} as const;

/** @throws ServiceError if the provider is not set up for messages of this form */
function verifierOf(
  stored: StoredSettings,
  provider: ProviderId,
  { form, event }: Message,
): Verifier {
  if (form === 'signed_request') {
    const protocol = protocolOf(provider);
    if (protocol.name !== 'oauth2') throw notSetUp(provider);
    return async (text) => {
      const settings = await protocol.read(stored);
      return verifySignedRequest(settings, text, event);
    };
  }
  const { idTokens: issuers } = settingsOf(provider).issuers(stored.settings);
  if (issuers.length === 0) throw notSetUp(provider);
  const verify = jwtVerifiers[form];
  return (text) => verify(issuers, text);
}
