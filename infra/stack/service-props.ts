import type { IDomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import type { ICertificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { ServiceSettings } from '../settings/setting-types.ts';
import type { NetworkProps } from './network.ts';
import type { BusInUse, TableInUse } from './resources-in-use.ts';

/** A function of the app. To the compiler, an `Alias` is no `IFunction`. */
export type FunctionInUse = Pick<IFunction, 'functionArn' | 'env' | 'node'>;

/** Resources of the app that a service uses instead of its own, or instead of their ARNs. */
export interface ServiceResources {
  /**
   * A table like `tableShape`, such as a global one.
   * @default one of its own
   */
  table?: TableInUse | undefined;
  /**
   * The event bus that the service publishes on.
   * @default one with the name of the stack
   */
  eventBus?: BusInUse | undefined;
  /**
   * The topic of alarms. The policy of an imported one must let CloudWatch and EventBridge publish.
   * @default one of its own
   */
  alarmTopic?: ITopic | undefined;
  /**
   * A domain of API Gateway for the API, which is then the issuer of the tokens.
   * @default that of `domainName`, if any
   */
  domain?: IDomainName | undefined;
  /**
   * The certificate of `domainName`, in the stack's region.
   * @default that of `certificateArn`
   */
  certificate?: ICertificate | undefined;
  /**
   * A key that encrypts the table, the secrets, the logs, the alarm topic and the queues. The
   * service adds what the policy of a key of the app needs; it can't change that of an imported one.
   * @default that of `kmsKeyArn`, if any
   */
  encryptionKey?: IKey | undefined;
  /**
   * The domain's certificate for CloudFront, in us-east-1.
   * @default that of `edgeCertificateArn`
   */
  edgeCertificate?: ICertificate | undefined;
  /**
   * A key for the origin secret and the logs of the edge, in us-east-1.
   * @default that of `edgeKmsKeyArn`, if any
   */
  edgeEncryptionKey?: IKey | undefined;
}

/**
 * The settings of a service, and resources that it uses instead of its own. All are optional, with
 * safe defaults.
 */
export interface LoginServiceProps
  extends Omit<ServiceSettings, 'loginHook'>,
    ServiceResources,
    NetworkProps {
  /**
   * The function that decides about logins, perhaps an alias of it; or its name or ARN.
   * @default none
   */
  loginHook?: FunctionInUse | string | undefined;
}
