/** Settings as an operator gives them, whole or by a preset. */
export interface SettingsInput {
  settings: unknown;
  /**
   * For a preset: settings that the operator names beside it. Unlike the preset's own, they replace
   * stored ones.
   */
  named?: { namespace?: string; jwks_uri?: string };
}

/** Settings to store, or every reason why they cannot be. */
export type MergeResult = { settings: object } | { problems: string[] };
