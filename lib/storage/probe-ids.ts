/**
 * Beginnings of the ids that exist only during the smoke test of a deployment. The role of the
 * smoke test may write only items whose keys begin so: see `partitions`.
 */
export const probeIds = { loginApp: 'la_probe-', account: 'ac_probe-', loginUser: 'lu_probe-' };

/**
 * The beginning of the issuers in the smoke test. Nobody can have the address.
 * @see RFC 2606, section 2
 */
export const probeIssuer = 'https://probe.invalid/';
