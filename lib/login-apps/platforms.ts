/** The platforms of mobile applications and devices. */
export const platforms = ['ios', 'android'] as const;
export type Platform = (typeof platforms)[number];
