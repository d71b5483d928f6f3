/**
 * The settings that a deployed stack keeps: another value would be a mix-up in almost every case. `change` names those
 * that a deployment changes on purpose.
 */
export const pins = ['deployment', 'stage', 'domainName', 'tableName'] as const;
export type Pin = (typeof pins)[number];

const unset: Record<Pin, string> = { deployment: 'none', stage: '', domainName: 'none', tableName: 'own' };

export const pinnedValue = (settings: { [name in Pin]?: string | undefined }, pin: Pin): string =>
  settings[pin] ?? unset[pin];

/** The parameter of the template that holds a pin; with `Value`, the output. */
export const pinName = (pin: Pin): string => `Pinned${pin.charAt(0).toUpperCase()}${pin.slice(1)}`;
