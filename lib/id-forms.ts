/**
 * The forms of the ids that commands take. `…` stands for 128 random bits or, for Login Users and devices, for a hash.
 * No secret has such a form.
 */
export const idForms = {
  'la_…': /^la_[\w-]{22}$/,
  'la_….c_…': /^la_[\w-]{22}\.c_[\w-]{22}$/,
  't_…': /^t_[\w-]{22}$/,
  'ac_…': /^ac_[\w-]{22}$/,
  'sec_…': /^sec_[\w-]{22}$/,
  'lu_…': /^lu_[\w-]{43}$/,
  's_…': /^s_[\w-]{22}$/,
  'd_…': /^d_[\w-]{43}$/,
  'k_…': /^k_[\w-]{22}$/,
} as const;

export type IdForm = keyof typeof idForms;
