/** A login hook that adds each kind of claim: verifiers must accept tokens that have them. */
export const handler = async () => ({
  claims: {
    roles: ['admin', 'reader'],
    customer: 7,
    company: { name: 'Ünïcode', active: true },
    nothing: null,
  },
});
