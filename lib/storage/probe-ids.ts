/**
 * Beginnings of the ids of probes, which exist while a deployment is tried out, and of their
 * people. The role that tries it out may write only items whose keys begin so: see `leadingKeys`.
 */
export const probeIds = { loginApp: 'la_probe-', account: 'ac_probe-', loginUser: 'lu_probe-' };

/**
 * The beginning of the issuers of probes. Nobody can have the address.
 * @see RFC 2606, section 2
 */
export const probeIssuer = 'https://probe.invalid/';
