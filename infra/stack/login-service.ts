import { CfnOutput, Duration, Stack, Token } from 'aws-cdk-lib';
import { CfnDomainName, type HttpApi, type IDomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { Connections, type IConnectable } from 'aws-cdk-lib/aws-ec2';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct, type IConstruct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { isAudited } from '../../lib/http/endpoint.ts';
import { readFunctions } from '../endpoints.ts';
import { type Settings, tokenVariables } from '../settings/settings.ts';
import { stackDescription, version, versionOutput } from '../version.ts';
import { alarmTopic } from './alarms.ts';
import { AuditTrail } from './audit-trail.ts';
import { EventPublishing } from './event-publishing.ts';
import { allowLogs } from './key-policy.ts';
import { goLive, guardUpdate } from './live-versions.ts';
import { measurementsOf } from './measurements.ts';
import { type Network, networkOf } from './network.ts';
import { pinSettings } from './pinned-settings.ts';
import { PropError } from './prop-error.ts';
import { readProps } from './read-props.ts';
import type { BusInUse, TableInUse } from './resources-in-use.ts';
import { allow } from './rights.ts';
import { awaitFirstRotation, rotate, signingKeyWindows } from './rotations.ts';
import { ServiceApi } from './service-api.ts';
import { serviceSecrets, serviceTable } from './service-data.ts';
import { type Deployment, ServiceFunction } from './service-function.ts';
import type { LoginServiceProps } from './service-props.ts';
import { shortcomingsOf } from './table-shape.ts';
import { Watching } from './watching.ts';

/**
 * The whole service: an HTTP API with a function per endpoint, the table, the secrets, and the
 * operator's function. A stack has one service, which has its name. In production it protects the
 * stack from termination.
 * @throws PropError naming the first prop that is wrong
 */
export class LoginService extends Construct implements IConnectable {
  /** The address of the API, and the issuer of its tokens. */
  readonly url: string;
  readonly api: HttpApi;
  readonly table: TableInUse;
  /** The bus with the published events. Absent when none are published. */
  readonly eventBus: BusInUse | undefined;
  readonly alarmTopic: ITopic;
  /**
   * The stack within this one, with the alarms.
   * @internal
   */
  readonly watching: Watching;
  /** @internal */
  readonly settings: Settings;
  /** The name of the API's own domain, if it has one. */
  readonly domainName: string | undefined;
  /** The key of the app for the edge. */
  readonly edgeEncryptionKey: IKey | undefined;
  readonly #network: Network | undefined;
  readonly #operator: ServiceFunction;

  constructor(scope: Construct, id: string, props: LoginServiceProps = {}) {
    super(scope, id);
    // The app may not have this flag, without which the rights of a role exceed what IAM takes.
    this.node.setContext('@aws-cdk/aws-iam:minimizePolicies', true);
    const stack = Stack.of(this);
    takeStack(this, stack);
    const settings = readProps(this, props);
    const { table: ownTable, eventBus, alarmTopic: ownTopic, domain } = props;
    this.settings = settings;
    this.domainName = domain ? nameOf(domain) : settings.domainName;
    this.edgeEncryptionKey = props.edgeEncryptionKey;
    this.#network = networkOf(this, props);
    stack.templateOptions.description ??= stackDescription;
    if (settings.stage === 'production') stack.terminationProtection = true;
    const { endpoints, others } = readFunctions();
    pinSettings(this, {
      ...settings,
      tableName: ownTable ? knownName(ownTable, ownTable.tableName) : settings.tableName,
      domainName: domain ? knownName(domain, domain.name) : settings.domainName,
    });
    const { kmsKeyArn } = settings;
    const namedKey = kmsKeyArn ? Key.fromKeyArn(this, 'Key', kmsKeyArn) : undefined;
    const key = props.encryptionKey ?? namedKey;
    if (key) allowLogs(this, key);
    const table = ownTable ?? serviceTable(this, settings, key);
    this.table = table;
    if (ownTable) {
      const problems = () =>
        shortcomingsOf(ownTable, settings.publishEvents).map((one) => `the prop table ${one}`);
      // At synthesis: the app may add indexes until then.
      this.node.addValidation({ validate: problems });
    }
    const secrets = serviceSecrets(this, settings, key);
    const api = new ServiceApi(this, 'Api', settings, key, domain);
    const environment = environmentOf(settings, api.url);
    const network = this.#network;
    const deployment: Deployment = { settings, key, table, secrets, environment, network };

    const withoutRoute = (key: string, special = {}): ServiceFunction => {
      const access = others.get(key);
      if (!access) throw new Error(`There is no functions/${key}.ts.`);
      return new ServiceFunction(this, key, access, deployment, special);
    };
    const operator = withoutRoute('operator', { functionName: `${settings.stack}-operator` });
    const audit = new AuditTrail(this, 'Audit', withoutRoute('forward-audit'), deployment);
    audit.of(operator);
    const signingKeys = secrets['signing-keys'];
    const keyRotation = withoutRoute('rotate-signing-keys').lambda;
    keyRotation.addEnvironment('SIGNING_KEYS_SECRET_ID', signingKeys.secretArn);
    const signingKeyRotation = rotate(this, 'SigningKeyRotation', signingKeys, keyRotation, {
      scheduleExpression: 'rate(30 days)',
      duration: signingKeyWindows[settings.tokenAlgorithm],
    });
    awaitFirstRotation(
      this,
      signingKeys,
      signingKeyRotation,
      withoutRoute('await-signing-keys').lambda,
    );
    // The operator has keys revoked, but writes none.
    operator.lambda.addEnvironment('SIGNING_KEY_ROTATION_FUNCTION', keyRotation.functionArn);
    allow(operator.lambda, ['lambda:InvokeFunction'], [keyRotation.functionArn]);
    const secretRotation = withoutRoute('rotate-service-secrets').lambda;
    secretRotation.addEnvironment(
      'PROVIDER_SETTINGS_SECRET_ID',
      secrets['provider-settings'].secretArn,
    );
    const quarterly = { scheduleExpression: 'rate(90 days)', duration: '4h' };
    rotate(this, 'RefreshTokensRotation', secrets['refresh-tokens'], secretRotation, quarterly);
    rotate(
      this,
      'ProviderSettingsRotation',
      secrets['provider-settings'],
      secretRotation,
      quarterly,
    );

    const finishing = withoutRoute('finish-deletions');
    audit.of(finishing);
    new Rule(this, 'FinishDeletions', {
      description: 'Finishes interrupted deletions, and stores that access requests have expired',
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [new LambdaFunction(finishing.lambda)],
    });

    const publishing = settings.publishEvents
      ? new EventPublishing(
          this,
          'EventPublishing',
          deployment,
          withoutRoute('publish-events'),
          eventBus,
        )
      : undefined;

    this.alarmTopic = alarmTopic(this, deployment, ownTopic);
    // Its failure is noticed most, and what checks its tokens must be live before it.
    const last = 'issue-token';
    const { tokenConcurrency: warm, tokenReservedConcurrency: reservedConcurrentExecutions } =
      settings;
    const ofTokens = definedOnly({ warm, reservedConcurrentExecutions });
    const functions = [...endpoints]
      .sort(([a], [b]) => Number(a === last) - Number(b === last))
      .map(
        ([key, one]) =>
          new ServiceFunction(this, key, one, deployment, key === last ? ofTokens : {}),
      );
    const guard = withoutRoute('guard-table-format');
    const check = withoutRoute('check-new-versions', { inlineRights: true });
    const format = guardUpdate(this, settings, guard, functions, table.tableName);
    this.watching = new Watching(this, 'Watching', {
      topic: this.alarmTopic,
      settings,
      measurements: measurementsOf(settings.stack, api.api, table),
      rotations: [keyRotation, secretRotation],
      finishing: finishing.lambda,
      functions,
      audit,
      publishing,
    });
    for (const { served, alias, target } of goLive(
      this,
      settings,
      functions,
      this.watching,
      check,
    )) {
      if (isAudited(served.access)) audit.of(served);
      api.addRoute(served, target);
      format.node.addDependency(alias);
    }

    const outputs = {
      [versionOutput]: version,
      ApiUrl: api.url,
      TableName: table.tableName,
      AlarmTopic: this.alarmTopic.topicArn,
      AuditLogGroup: audit.logGroup.logGroupName,
      UndeliveredAudit: audit.undelivered.queueUrl,
      EventBusName: publishing?.bus.eventBusName,
      DeadLetterQueueUrl: publishing?.deadLetters.queueUrl,
      SigningKeysSecretArn: signingKeys.secretArn,
      RefreshTokensSecretArn: secrets['refresh-tokens'].secretArn,
      ProviderSettingsSecretArn: secrets['provider-settings'].secretArn,
      OperatorFunctionName: operator.lambda.functionName,
    };
    for (const [name, value] of Object.entries(definedOnly(outputs))) {
      // The pages and the operator's command line ask the stack for it by this name.
      new CfnOutput(this, name, { value }).overrideLogicalId(name);
    }
    this.url = api.url;
    this.api = api.api;
    this.eventBus = publishing?.bus;
    this.#operator = operator;
  }

  /**
   * The network connections of the functions that call out.
   * @throws PropError without a VPC
   */
  get connections(): Connections {
    if (!this.#network)
      throw new PropError(this, 'vpc', 'must be given, since connections are those in it');
    const { securityGroups } = this.#network;
    return new Connections({ securityGroups });
  }

  /** Lets somebody run all commands of the operator. */
  grantInvokeOperator = (grantee: IGrantable): Grant => this.#operator.lambda.grantInvoke(grantee);
}

/** The stacks that have a service. */
const services = new WeakMap<Stack, LoginService>();

/**
 * Takes a stack for a service, which has its name.
 * @throws PropError when it is a nested one, or has a service already
 */
function takeStack(service: LoginService, stack: Stack): void {
  const other = services.get(stack);
  const reason = 'a service has the name of its stack';
  if (stack.nested)
    throw new PropError(service, undefined, `it must not be in a nested stack: ${reason}`);
  if (other)
    throw new PropError(
      service,
      undefined,
      `it must be in a stack of its own: ${stack.node.path} has ${other.node.path}, and ${reason}`,
    );
  services.set(stack, service);
}

/**
 * The name of a domain. The construct of one that the app makes only refers to it, which another
 * region can't.
 */
const nameOf = ({ name, node }: IDomainName): string =>
  node.defaultChild instanceof CfnDomainName ? node.defaultChild.domainName : name;

/** The name of a resource, or its path while only CloudFormation knows the name. */
const knownName = ({ node }: IConstruct, name: string): string =>
  Token.isUnresolved(name) ? node.path : name;

const environmentOf = (settings: Settings, issuer: string): Record<string, string> =>
  definedOnly({
    ISSUER: issuer,
    METRICS_NAMESPACE: settings.stack,
    ...tokenVariables(settings),
    ORIGIN_SECRET_HASHES: settings.originSecretHashes,
    VIEWER_ADDRESS: settings.edge ? 'trusted' : undefined,
    LOOPBACK_PROVIDERS: settings.loopbackProviders ? 'allowed' : undefined,
  });
