/**
 * What the clients of the AWS SDK are given in the place of their chain of credential providers. Lambda hands a
 * function its credentials in the environment, always; the rest of the chain is for other machines.
 */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
