/** Settings as an operator gives them: all of a provider, or those of a preset. */
export interface SettingsInput {
  settings: unknown;
  isPreset: boolean;
  /** Settings that the operator names beside a preset. Unlike the preset's own, they replace what is stored. */
  named?: { namespace?: string; jwks_uri?: string };
}

/** Settings to store, or every reason why they cannot be. */
export type MergeResult = { settings: object } | { problems: string[] };
