import { CfnOutput, Duration, Stack, Token } from 'aws-cdk-lib';
import type { HttpApi, IDomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct, type IConstruct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { isAudited } from '../../lib/http/endpoint.ts';
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
import { goLive, guardTableFormat } from './live-versions.ts';
import { measurementsOf } from './measurements.ts';
import { pinSettings } from './pinned-settings.ts';
import { allow } from './rights.ts';
import { awaitFirstRotation, rotate, signingKeyWindows } from './rotations.ts';
import { ServiceApi } from './service-api.ts';
import { serviceSecrets, serviceTable, type TableInUse } from './service-data.ts';
import { type Deployment, ServiceFunction } from './service-function.ts';
import { Watching } from './watching.ts';

/**
 * The settings of a service, and resources that it uses instead of its own. All are optional, with
 * safe defaults.
 */
export interface LoginServiceProps extends ServiceSettings {
  /**
   * A table with the keys, indexes and stream of `docs/data-model.md`, such as a global one.
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
}

/**
 * The whole service: an HTTP API with a function per endpoint, the table, the secrets, and the
 * operator's function. A stack has one service, which has its name. In production it protects the
 * stack from termination.
 * @throws SettingsError naming the first prop that is wrong
 */
export class LoginService extends Construct {
  /** The address of the API, and the issuer of its tokens. */
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
    // The app may not have this flag, without which the rights of a role exceed what IAM takes.
    this.node.setContext('@aws-cdk/aws-iam:minimizePolicies', true);
    const stack = Stack.of(this);
    const { table: ownTable, eventBus, alarmTopic: ownTopic, domain, ...given } = props;
    requireConsistent(props);
    const { stackName, account, region } = stack;
    const place = Token.isUnresolved(account + region) ? {} : { account, region };
    const settings = readSettings({ ...given, stack: stackName, ...place });
    this.settings = settings;
    stack.templateOptions.description ??= stackDescription;
    if (settings.stage === 'production') stack.terminationProtection = true;
    const { endpoints, others } = readFunctions();
    pinSettings(this, {
      ...settings,
      tableName: ownTable ? knownName(ownTable, ownTable.tableName) : settings.tableName,
      domainName: domain ? knownName(domain, domain.name) : settings.domainName,
    });
    const { kmsKeyArn } = settings;
    const key = kmsKeyArn ? Key.fromKeyArn(this, 'Key', kmsKeyArn) : undefined;
    const table = ownTable ?? serviceTable(this, settings, key);
    this.table = table;
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
    const check = settings.canary
      ? withoutRoute('check-new-versions', { inlineRights: true })
      : undefined;
    const format = guardTableFormat(this, withoutRoute('guard-table-format'), table.tableName);
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

  /** Lets somebody run all commands of the operator. */
  grantInvokeOperator = (grantee: IGrantable): Grant => this.#operator.lambda.grantInvoke(grantee);
}

/** Settings about a resource of the service's own, which can't come with one that is handed in. */
const aboutOwn = {
  table: ['tableName', 'tableStreamArn', 'warmReadUnits', 'warmWriteUnits', 'maxWriteUnits'],
  domain: ['domainName', 'certificateArn'],
} as const;

/** @throws SettingsError naming the first prop that contradicts a resource that is handed in */
function requireConsistent(props: LoginServiceProps): void {
  for (const resource of ['table', 'domain'] as const) {
    const setting = aboutOwn[resource].find((name) => props[name] !== undefined);
    if (props[resource] && setting)
      throw new SettingsError(setting, `must not come with ${resource}`);
  }
  const { table, eventBus, publishEvents = true } = props;
  if (eventBus && !publishEvents)
    throw new SettingsError('eventBus', 'must come with publishEvents');
  if (table && publishEvents && !table.tableStreamArn)
    throw new SettingsError('table', 'must have a stream, unless publishEvents is false');
}

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
