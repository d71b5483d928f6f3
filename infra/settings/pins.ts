/**
 * Settings that a deployed stack keeps, unless `change` names them: another value is almost always
 * a mix-up.
 */
export const pins = ['deployment', 'stage', 'domainName', 'tableName'] as const;
export type Pin = (typeof pins)[number];

const unset: Record<Pin, string> = {
  deployment: 'none',
  stage: '',
  domainName: 'none',
  tableName: 'own',
};

export const pinnedValue = (settings: { [name in Pin]?: string | undefined }, pin: Pin): string =>
  settings[pin] ?? unset[pin];

/** The parameter of the template that holds a pin; with `Value`, the output. */
export const pinName = (pin: Pin): string => `Pinned${pin.charAt(0).toUpperCase()}${pin.slice(1)}`;
