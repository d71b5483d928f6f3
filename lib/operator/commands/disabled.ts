/** Whether a Login App or an account is disabled, and since when, as an operator sees it. */
export const disabledSince = (disabled_at: string | undefined) => ({
  disabled: disabled_at !== undefined,
  ...(disabled_at !== undefined && { disabled_at }),
});
