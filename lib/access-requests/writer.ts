/**
 * The writer of something, as it is stored with it: an account, or an operator by their ARN. Responses to accounts never show
 * it.
 */
export type Writer = { account_id: string } | { operator: string };
