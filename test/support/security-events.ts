import { newIssuerLogin } from './issuer-login.ts';
import { type Claims, ourApp, type ProviderStandIn } from './provider-stand-in.ts';
import { type Service, unique } from './service.ts';

/** The event that makes a JWT a logout token. */
export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** Settings of several issuers in one Login App. */
export const issuersAt = (scenes: { url: string }[], notifications: object = {}) =>
  scenes.map(({ url }) => ({ issuer: url, audiences: [ourApp], notifications }));

/** A person about whom an issuer sends security events and logout tokens. */
export type ToldPerson = Awaited<ReturnType<typeof newToldPerson>>;

/**
 * Makes a Login App with an issuer as provider_f, and a person of it.
 * @param now epoch seconds of the service's clock
 * @param notifications the issuer's settings about them; null for none
 */
export async function newToldPerson(
  service: Service,
  standIn: ProviderStandIn,
  now: () => number,
  notifications: object | null = {},
) {
  const login = await newIssuerLogin(service, standIn, notifications ? { notifications } : {});
  const { scene, subject, push, sendForm } = login;
  const setOf = (name: string, claims: Claims = {}, event: object = {}, header: object = {}) =>
    login.setOf(name, { iat: now(), ...claims }, event, header);
  const logoutTokenOf = (claims: Claims = {}, header: object = {}) => {
    const events = { [logoutEvent]: {} };
    const about = { sub: subject, iat: now(), exp: now() + 120, jti: unique('jti'), events };
    return scene.idToken({ ...about, ...claims }, { typ: 'logout+jwt', ...header });
  };
  return {
    ...login,
    setOf,
    logoutTokenOf,
    tell: async (...set: Parameters<typeof setOf>) => push(await setOf(...set)),
    logOut: async (...token: Parameters<typeof logoutTokenOf>) =>
      sendForm({ logout_token: await logoutTokenOf(...token) }),
  };
}
