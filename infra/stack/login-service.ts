import { CfnOutput, Duration, Stack, Token } from 'aws-cdk-lib';
import type { HttpApi, IDomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct, type IConstruct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { type AnyEndpoint, isAudited } from '../../lib/http/endpoint.ts';
import { tokenPath } from '../../lib/tokens/issuer.ts';
import { readFunctions } from '../endpoints.ts';
import {
  readSettings,
  type ServiceSettings,
  type Settings,
  SettingsError,
  tokenVariables,
} from '../settings/settings.ts';
import { stackDescription, version, versionOutput } from '../version.ts';
import { alarmTopic } from './alarms.ts';
import { AuditTrail } from './audit-trail.ts';
import { type BusInUse, EventPublishing } from './event-publishing.ts';
import { guardTableFormat, LiveVersions, newVersionCheck } from './live-versions.ts';
import { measurementsOf } from './measurements.ts';
import { pinSettings } from './pinned-settings.ts';
import { allow } from './rights.ts';
import { awaitFirstRotation, rotate, signingKeyWindows } from './rotations.ts';
import { ServiceApi } from './service-api.ts';
import { serviceSecrets, serviceTable, type TableInUse } from './service-data.ts';
import { type Deployment, ServiceFunction } from './service-function.ts';
import { Watching } from './watching.ts';

/** The settings of a service, and resources that it uses instead of its own. All are optional, with safe defaults. */
export interface LoginServiceProps extends ServiceSettings {
  /** A table with the keys, indexes and stream of `docs/data-model.md`, such as a global table. @default a table of the service */
  table?: TableInUse | undefined;
  /** The event bus that the service publishes on. @default a bus with the name of the stack */
  eventBus?: BusInUse | undefined;
  /**
   * The topic that alarms notify. The policy of an imported one must let CloudWatch and EventBridge publish. @default a topic of
   * the service
   */
  alarmTopic?: ITopic | undefined;
  /** A domain of API Gateway for the API, which is then the issuer of the tokens. @default that of `domainName`, if there is one */
  domain?: IDomainName | undefined;
}

/**
 * The whole service: an HTTP API with one function per endpoint, the table, the secrets, and the operator's function. It has the
 * name of its stack, in which there is one service. In production it protects the stack from termination.
 * @throws SettingsError naming the first prop that is wrong
 */
export class LoginService extends Construct {
  /** The address at which clients reach the API; the issuer of its tokens. */
  readonly url: string;
  readonly api: HttpApi;
  readonly table: TableInUse;
  /** The bus with the published events. Absent when none are published. */
  readonly eventBus: BusInUse | undefined;
  readonly alarmTopic: ITopic;
  /** The stack within this one, with the alarms. */
  readonly watching: Watching;
  readonly settings: Settings;
  readonly #operator: ServiceFunction;

  constructor(scope: Construct, id: string, props: LoginServiceProps = {}) {
    super(scope, id);
    // An app that is older than this flag need not have it, and without it the rights of a role exceed what IAM takes.
    this.node.setContext('@aws-cdk/aws-iam:minimizePolicies', true);
    const stack = Stack.of(this);
    const { table: ownTable, eventBus, alarmTopic: ownTopic, domain, ...given } = props;
    requireConsistent(props);
    const settings = readSettings({ ...given, stack: stack.stackName, ...placeOf(stack) });
    this.settings = settings;
    stack.templateOptions.description ??= stackDescription;
    if (settings.stage === 'production') stack.terminationProtection = true;
    const { endpoints, others } = readFunctions();
    pinSettings(this, {
      ...settings,
      ...definedOnly({
        tableName: ownTable && knownName(ownTable, ownTable.tableName),
        domainName: domain && knownName(domain, domain.name),
      }),
    });
    const { kmsKeyArn } = settings;
    const key = kmsKeyArn ? Key.fromKeyArn(this, 'Key', kmsKeyArn) : undefined;
    const table = ownTable ?? serviceTable(this, settings, key);
    const secrets = serviceSecrets(this, settings, key);
    const api = new ServiceApi(this, 'Api', settings, key, domain);
    const environment = environmentOf(settings, api.url);
    const deployment: Deployment = { settings, key, table, secrets, environment };

    const withoutRoute = (key: string, special = {}): ServiceFunction => {
      const access = others.get(key);
      if (!access) throw new Error(`There is no functions/${key}.ts.`);
      return new ServiceFunction(this, key, access, deployment, special);
    };
    const operator = withoutRoute('operator', { functionName: `${settings.stack}-operator` });
    const forwarder = withoutRoute('forward-audit');
    const audit = new AuditTrail(this, 'Audit', forwarder, deployment);
    audit.of(operator);
    const signingKeys = secrets['signing-keys'];
    const keyRotation = withoutRoute('rotate-signing-keys').lambda;
    keyRotation.addEnvironment('SIGNING_KEYS_SECRET_ID', signingKeys.secretArn);
    const signingKeyRotation = rotate(this, 'SigningKeyRotation', signingKeys, keyRotation, {
      scheduleExpression: 'rate(30 days)',
      duration: signingKeyWindows[settings.tokenAlgorithm],
    });
    const awaiting = withoutRoute('await-signing-keys').lambda;
    awaitFirstRotation(this, signingKeys, signingKeyRotation, awaiting);
    // The operator has a key revoked, but writes none.
    operator.lambda.addEnvironment('SIGNING_KEY_ROTATION_FUNCTION', keyRotation.functionArn);
    allow(operator.lambda, ['lambda:InvokeFunction'], [keyRotation.functionArn]);
    const secretRotation = withoutRoute('rotate-service-secrets').lambda;
    secretRotation.addEnvironment('PROVIDER_SETTINGS_SECRET_ID', secrets['provider-settings'].secretArn);
    const quarterly = { scheduleExpression: 'rate(90 days)', duration: '4h' };
    rotate(this, 'RefreshTokensRotation', secrets['refresh-tokens'], secretRotation, quarterly);
    rotate(this, 'ProviderSettingsRotation', secrets['provider-settings'], secretRotation, quarterly);

    const finishing = withoutRoute('finish-deletions');
    audit.of(finishing);
    new Rule(this, 'FinishDeletions', {
      description: 'Finishes the deletions that were interrupted',
      schedule: Schedule.rate(Duration.minutes(10)),
      targets: [new LambdaFunction(finishing.lambda)],
    });

    const refreshing = withoutRoute('refresh-access-requests').lambda;
    new Rule(this, 'RefreshAccessRequests', {
      description: 'Lets access requests expire, and brings the lists of accounts up to date',
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [new LambdaFunction(refreshing)],
    });

    const externalId = settings.externalIdInEvents ? { EXTERNAL_ID_IN_EVENTS: 'true' } : {};
    const publisher = (environment: Record<string, string>) =>
      withoutRoute('publish-events', { environment: { ...environment, ...externalId } }).lambda;
    const publishing = settings.publishEvents
      ? new EventPublishing(this, 'EventPublishing', deployment, publisher, eventBus)
      : undefined;

    const topic = alarmTopic(this, deployment, ownTopic);
    // Last, the function whose failure is noticed most: what others check tokens with is live before it.
    const issuesTokens = ({ path }: AnyEndpoint): boolean => path === tokenPath;
    const { tokenConcurrency: warm, tokenReservedConcurrency: reservedConcurrentExecutions } = settings;
    const ofTokens = { warm, ...definedOnly({ reservedConcurrentExecutions }) };
    const functions = [...endpoints]
      .sort(([, a], [, b]) => Number(issuesTokens(a)) - Number(issuesTokens(b)))
      .map(([key, endpoint]) => {
        const special = issuesTokens(endpoint) ? ofTokens : {};
        return new ServiceFunction(this, key, endpoint, deployment, special);
      });
    const check = settings.canary
      ? newVersionCheck(withoutRoute('check-new-versions', { inlineRights: true }), functions, settings.stack)
      : undefined;
    const live = new LiveVersions(this, 'LiveVersions', settings, check);
    const format = guardTableFormat(this, withoutRoute('guard-table-format'), table.tableName);
    this.watching = new Watching(this, 'Watching', live.role, {
      topic,
      settings,
      measurements: measurementsOf(settings.stack, api.api, table),
      rotations: [keyRotation, secretRotation],
      finishing: finishing.lambda,
      refreshing,
      functions,
      forwarder: forwarder.lambda,
      undeliveredAudit: audit.undelivered,
      publishing,
    });
    for (const served of functions) {
      if (isAudited(served.access)) audit.of(served);
      api.addRoute(served, live.of(served, this.watching));
    }
    format.node.addDependency(...live.aliases);

    const outputs = {
      [versionOutput]: version,
      ApiUrl: api.url,
      TableName: table.tableName,
      AlarmTopic: topic.topicArn,
      AuditLogGroup: audit.logGroup.logGroupName,
      UndeliveredAudit: audit.undelivered.queueUrl,
      EventBusName: publishing?.bus.eventBusName,
      DeadLetterQueueUrl: publishing?.deadLetters.queueUrl,
      // What the commands of docs/operating.md rotate.
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
    this.table = table;
    this.eventBus = publishing?.bus;
    this.alarmTopic = topic;
    this.#operator = operator;
  }

  /** Lets somebody run the operator's commands: all of them, as the one who may invoke its function. */
  grantInvokeOperator = (grantee: IGrantable): Grant => this.#operator.lambda.grantInvoke(grantee);
}

/** Settings that are about the service's own resource, by the one that may be handed in instead. */
const aboutOwn = {
  table: ['tableName', 'tableStreamArn', 'warmReadUnits', 'warmWriteUnits', 'maxWriteUnits'],
  domain: ['domainName', 'certificateArn'],
} as const;

/** @throws SettingsError naming the first prop that a resource that is handed in contradicts */
function requireConsistent(props: LoginServiceProps): void {
  for (const resource of ['table', 'domain'] as const) {
    const setting = aboutOwn[resource].find((name) => props[name] !== undefined);
    if (props[resource] && setting) throw new SettingsError(setting, `must not come with ${resource}`);
  }
  const { table, eventBus, publishEvents = true } = props;
  if (eventBus && !publishEvents) throw new SettingsError('eventBus', 'must come with publishEvents');
  if (table && publishEvents && !table.tableStreamArn)
    throw new SettingsError('table', 'must have a stream, unless publishEvents is false');
}

/** The account and the region of a stack, when the app knows both. */
const placeOf = ({ account, region }: Stack) =>
  Token.isUnresolved(account) || Token.isUnresolved(region) ? {} : { account, region };

/** The name of a resource; its place in the app when only CloudFormation will know the name. */
const knownName = ({ node }: IConstruct, name: string): string =>
  Token.isUnresolved(name) ? node.path : name;

const environmentOf = (settings: Settings, issuer: string): Record<string, string> => ({
  ISSUER: issuer,
  METRICS_NAMESPACE: settings.stack,
  ...tokenVariables(settings),
  ...definedOnly({
    ORIGIN_SECRET_HASHES: settings.originSecretHashes,
    VIEWER_ADDRESS: settings.edge ? 'trusted' : undefined,
    LOOPBACK_PROVIDERS: settings.loopbackProviders ? 'allowed' : undefined,
  }),
});
