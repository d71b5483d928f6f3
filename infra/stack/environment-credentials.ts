/**
 * Stands for the SDK's chain of credential providers: Lambda always passes credentials in the
 * environment.
 */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
