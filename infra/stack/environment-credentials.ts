/**
 * Replaces the chain of credential providers in the clients of the AWS SDK. Lambda always passes credentials in the
 * environment; the rest of the chain is for other machines.
 */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
