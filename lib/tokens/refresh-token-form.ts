/**
 * The form of a refresh token: `rt.lu_….s_….GENERATION.KEY_ID.MAC`. Its groups are the signed text,
 * the four parts of that, and the MAC.
 */
export const refreshTokenForm =
  /^(rt\.(lu_[\w-]{43})\.(s_[\w-]{22})\.(0|[1-9]\d{0,9})\.([\w-]{8}))\.([\w-]{43})$/;
