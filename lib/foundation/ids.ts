import { randomBytes } from 'node:crypto';

/** 128 random bits, URL-safe, after a prefix: `la_Xk2…` */
export const newId = (prefix: string): string =>
  `${prefix}_${randomBytes(16).toString('base64url')}`;

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
