import { randomBytes } from 'node:crypto';

/** 128 random bits, URL-safe, after a prefix: `la_Xk2…` */
export const newId = (prefix: string): string =>
  `${prefix}_${randomBytes(16).toString('base64url')}`;

/**
 * Beginnings of the ids of probes, which exist while a deployment is tried out, and of their
 * people.
 */
export const probeIds = { loginApp: 'la_probe-', account: 'ac_probe-', loginUser: 'lu_probe-' };

/**
 * The beginning of the issuers of probes. Nobody can have the address.
 * @see RFC 2606, section 2
 */
export const probeIssuer = 'https://probe.invalid/';

/** The most places for a person's sessions. */
export const largestRing = 1000;

/** The random part of a new session's id: 114 bits, `s_b2F…` */
export const newSessionPrefix = (): string => newId('s').slice(0, -3);

/** A session's id: its random part, then the three digits of its place. */
export const sessionIdAt = (prefix: string, place: number) =>
  `${prefix}${String(place).padStart(3, '0')}`;

/** The digits of the place in a session's id; undefined for a text of another form. */
export const ringIndexIn = (sessionId: string) => /^s_[\w-]{19}(\d{3})$/.exec(sessionId)?.[1];

/**
 * The forms of ids, by their names in commands: `…` is 128 bits, or 256 for Login Users and
 * devices. No secret has one.
 */
export const idForms = {
  'la_…': /^la_[\w-]{22}$/,
  'la_….c_…': /^la_[\w-]{22}\.c_[\w-]{22}$/,
  't_…': /^t_[\w-]{22}$/,
  'ac_…': /^ac_[\w-]{22}$/,
  'sec_…': /^sec_[\w-]{22}$/,
  'lu_…': /^lu_[\w-]{43}$/,
  'i_…': /^i_[\w-]{22}$/,
  's_…': /^s_[\w-]{22}$/,
  'd_…': /^d_[\w-]{43}$/,
  'k_…': /^k_[\w-]{22}$/,
  /**
   * A key of a client.
   * @see RFC 7638
   */
  THUMBPRINT: /^[\w-]{43}$/,
} as const;
export type IdForm = keyof typeof idForms;

export const isId = (form: IdForm, text: string): boolean => idForms[form].test(text);

/** The Login App's id in a client's id; undefined for a text of another form. */
export const loginAppIdOf = (clientId: string): string | undefined =>
  isId('la_….c_…', clientId) ? clientId.split('.')[0] : undefined;

/** A long-lived Login App Token: `LOGIN_APP_ID.TOKEN_ID.SECRET` */
export const loginAppTokenForm = /^la_[\w-]{22}\.t_[\w-]{22}\.las_[\w-]{43}$/;

/**
 * A refresh token: `rt.lu_….s_….GENERATION.KEY_ID.MAC`, with groups for the signed text and its
 * parts.
 */
export const refreshTokenForm =
  /^(rt\.(lu_[\w-]{43})\.(s_[\w-]{22})\.(0|[1-9]\d{0,9})\.([\w-]{8}))\.([\w-]{43})$/;
