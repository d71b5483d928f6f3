/** What an operator gives: all settings of a provider, or a preset. */
export interface GivenSettings {
  settings: unknown;
  isPreset: boolean;
}

/** Settings to store, or every reason why they cannot be. */
export type Combined = { settings: object } | { problems: string[] };
