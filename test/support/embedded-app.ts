import { App, Stack } from 'aws-cdk-lib';
import { DomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { Edge } from '../../infra/stack/edge.ts';
import { LoginService } from '../../infra/stack/login-service.ts';
import { tableShape } from '../../infra/stack/table-shape.ts';
import { withEdge } from './deployments.ts';

/** An app that has none of this project's feature flags, and bundles nothing. */
export const newApp = (context = {}, builtinCloudFormationValidation = false): App =>
  new App({
    context: { ...context, 'aws:cdk:bundling-stacks': [] },
    stackTraces: false,
    treeMetadata: false,
    builtinCloudFormationValidation,
  });

/** A stack in a region or, with null, wherever it is deployed. */
export const ownStack = (
  name = 'accounts',
  app = newApp(),
  region: string | null = 'eu-central-1',
): Stack =>
  new Stack(app, name, { env: region === null ? {} : { account: '123456789012', region } });

/** A VPC that the app only knows, with private subnets. */
export const knownVpc = (scope: Stack) =>
  Vpc.fromVpcAttributes(scope, 'Vpc', {
    vpcId: 'vpc-12345678',
    availabilityZones: ['eu-central-1a', 'eu-central-1b'],
    privateSubnetIds: ['subnet-11111111', 'subnet-22222222'],
    privateSubnetRouteTableIds: ['rtb-11111111', 'rtb-22222222'],
  });

/**
 * A service, and an edge, with every resource that an app of its own can hand in. By default, the
 * app has the flags that `cdk init` sets.
 */
export function embeddedApp(app = newApp(featureFlags)) {
  const stack = ownStack('accounts', app);
  const edgeStack = ownStack('certificates', app, 'us-east-1');
  const given = {
    table: new TableV2(stack, 'People', {
      ...tableShape,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    }),
    eventBus: new EventBus(stack, 'Bus'),
    domain: new DomainName(stack, 'Domain', {
      domainName: 'login.example.com',
      certificate: Certificate.fromCertificateArn(stack, 'Certificate', withEdge.certificateArn),
    }),
    encryptionKey: new Key(stack, 'Key', { enableKeyRotation: true }),
    loginHook: LambdaFunction.fromFunctionName(stack, 'Hook', 'login-hook'),
    vpc: knownVpc(stack),
    edgeCertificate: new Certificate(edgeStack, 'Certificate', { domainName: 'login.example.com' }),
    edgeEncryptionKey: new Key(edgeStack, 'Key', { enableKeyRotation: true }),
  };
  const service = new LoginService(stack, 'Login', { ...given, edge: true, edgeLogs: true });
  return { app, stack, edgeStack, given, service, edge: new Edge(app, service) };
}
