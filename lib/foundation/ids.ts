import { randomBytes } from 'node:crypto';

/** A new id: 128 random bits, URL-safe, after a prefix that says what it is: `la_Xk2…` */
export const newId = (prefix: string): string => `${prefix}_${randomBytes(16).toString('base64url')}`;

/** Beginnings of the ids of probes, which exist while a deployment is tried out, and of the only person of each. */
export const probeIds = { loginApp: 'la_probe-', account: 'ac_probe-', loginUser: 'lu_probe-' };

/** The beginning of the issuers of probes. Nobody can have the address. @see RFC 2606, section 2 */
export const probeIssuer = 'https://probe.invalid/';

/** How many sessions of a person can have a place of their own. */
export const largestRing = 1000;

/** The random part of a new session's id, which its place completes: 114 random bits, `s_b2F…` */
export const newSessionPrefix = (): string => newId('s').slice(0, -3);

/** The id of a session: its random part, then the three digits of its place. */
export const sessionIdAt = (prefix: string, place: number): string =>
  `${prefix}${String(place).padStart(3, '0')}`;

/** The digits of the place that a session's id ends in. An id from before sessions had places never ends in a digit. */
export const ringIndexIn = (sessionId: string): string | undefined =>
  /^s_[\w-]{19}(\d{3})$/.exec(sessionId)?.[1];

/** 128 random bits. */
const random = String.raw`[\w-]{22}`;
/** 256 bits: random, or a hash. */
const long = String.raw`[\w-]{43}`;

/** The pattern of each kind of id, to be used within a longer one. No secret has such a form. */
export const idPatterns = {
  'la_…': `la_${random}`,
  'la_….c_…': String.raw`la_${random}\.c_${random}`,
  't_…': `t_${random}`,
  'ac_…': `ac_${random}`,
  'sec_…': `sec_${random}`,
  'lu_…': `lu_${long}`,
  'i_…': `i_${random}`,
  's_…': `s_${random}`,
  'd_…': `d_${long}`,
  'k_…': `k_${random}`,
} as const;

/** A kind of id, as commands name it. `…` stands for 128 random bits or, for Login Users and devices, for 256. */
export type IdForm = keyof typeof idPatterns;

const formOf = (form: IdForm): RegExp => new RegExp(`^${idPatterns[form]}$`);

/** The form of each kind of id, as a whole text. */
export const idForms = {
  'la_…': formOf('la_…'),
  'la_….c_…': formOf('la_….c_…'),
  't_…': formOf('t_…'),
  'ac_…': formOf('ac_…'),
  'sec_…': formOf('sec_…'),
  'lu_…': formOf('lu_…'),
  'i_…': formOf('i_…'),
  's_…': formOf('s_…'),
  'd_…': formOf('d_…'),
  'k_…': formOf('k_…'),
} as const satisfies Record<IdForm, RegExp>;

/** Whether a text has the form of an id. One that has not is the id of nothing. */
export const isId = (form: IdForm, text: string): boolean => idForms[form].test(text);

/** The Login App of a client's id, which begins with it; undefined for a text of another form. */
export const loginAppIdOf = (clientId: string): string | undefined =>
  isId('la_….c_…', clientId) ? clientId.split('.')[0] : undefined;

/** A long-lived Login App Token: `LOGIN_APP_ID.TOKEN_ID.SECRET` */
export const loginAppTokenForm = new RegExp(
  String.raw`^${idPatterns['la_…']}\.${idPatterns['t_…']}\.las_${long}$`,
);

/** A refresh token: `rt.lu_….s_….GENERATION.KEY_ID.MAC`, with groups for the signed text and each of its parts. */
export const refreshTokenForm = new RegExp(
  String.raw`^(rt\.(${idPatterns['lu_…']})\.(${idPatterns['s_…']})\.(0|[1-9]\d{0,9})\.([\w-]{8}))\.(${long})$`,
);
