import { type App, CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Key } from 'aws-cdk-lib/aws-kms';
import { type AnyEndpoint, isAudited } from '../../lib/http/endpoint.ts';
import { tokenPath } from '../../lib/tokens/issuer.ts';
import type { Functions } from '../endpoints.ts';
import { type Settings, tokenVariables } from '../settings/settings.ts';
import { version } from '../version.ts';
import { AlarmTopic } from './alarm-topic.ts';
import { AuditTrail } from './audit-trail.ts';
import { stackDescription, versionOutput, versionTag } from './description.ts';
import { EventPublishing } from './event-publishing.ts';
import { FirstRotation } from './first-rotation.ts';
import { allow } from './key-rights.ts';
import { LiveVersions } from './live-versions.ts';
import { Measurements } from './measurements.ts';
import { newVersionCheck } from './new-version-check.ts';
import { PinnedSettings } from './pinned-settings.ts';
import { SecretRotation, signingKeyWindows } from './secret-rotation.ts';
import { ServiceApi } from './service-api.ts';
import { ServiceFunction, type ServiceFunctionProps } from './service-function.ts';
import { ServiceSecrets } from './service-secrets.ts';
import { existingTable, ServiceTable } from './service-table.ts';
import { TableFormat } from './table-format.ts';
import { Watching } from './watching.ts';

/** The whole service: an HTTP API with one function per endpoint, the table, the secrets, and the operator's function. */
export class LoginService extends Stack {
  /** The stack within this one, with the alarms. */
  readonly watching: Watching;

  constructor(app: App, settings: Settings, { endpoints, others }: Functions) {
    const { account, region, stage, tags, kmsKeyArn, tracing, logRetentionDays } = settings;
    super(app, settings.stack, {
      description: stackDescription,
      tags: { ...tags, [versionTag]: version },
      terminationProtection: stage === 'production',
      ...(account && region && { env: { account, region } }),
    });
    new PinnedSettings(this, 'Pinned', settings);
    const removalPolicy = settings.removalPolicy === 'retain' ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    const key = kmsKeyArn ? Key.fromKeyArn(this, 'Key', kmsKeyArn) : undefined;
    const table = settings.tableName
      ? existingTable(this, settings.tableName, settings.tableStreamArn, key)
      : new ServiceTable(this, 'Table', removalPolicy, settings, key);
    const secrets = new ServiceSecrets(this, 'Secrets', settings, key).named;
    const api = new ServiceApi(this, 'Api', settings, key);
    const environment = environmentOf(settings, api.url);
    const shared = { table, secrets, tracing, logRetentionDays, logKey: key, environment };

    const withoutRoute = (key: string, props: Partial<ServiceFunctionProps> = {}): ServiceFunction => {
      const access = others.get(key);
      if (!access) throw new Error(`There is no functions/${key}.ts.`);
      const environment = { ...shared.environment, ...props.environment };
      return new ServiceFunction(this, key, { ...shared, ...props, access, environment });
    };
    const operator = withoutRoute('operator', { functionName: `${settings.stack}-operator` });
    const forwarder = withoutRoute('forward-audit');
    const audit = new AuditTrail(this, 'Audit', {
      forwarder,
      retentionDays: settings.auditRetentionDays,
      removalPolicy,
      key,
    });
    audit.of(operator);
    const keyRotation = withoutRoute('rotate-signing-keys').lambda;
    keyRotation.addEnvironment('SIGNING_KEYS_SECRET_ID', secrets['signing-keys'].secretArn);
    const signingKeyRotation = new SecretRotation(this, 'SigningKeyRotation', {
      secret: secrets['signing-keys'],
      rotation: keyRotation,
      every: 'rate(30 days)',
      window: signingKeyWindows[settings.tokenAlgorithm],
    });
    new FirstRotation(this, 'FirstRotation', {
      signingKeys: secrets['signing-keys'],
      rotation: signingKeyRotation,
      awaiting: withoutRoute('await-signing-keys').lambda,
    });
    // The operator has a key revoked, but writes none.
    operator.lambda.addEnvironment('SIGNING_KEY_ROTATION_FUNCTION', keyRotation.functionArn);
    allow(operator.lambda, ['lambda:InvokeFunction'], [keyRotation.functionArn]);
    const secretRotation = withoutRoute('rotate-service-secrets').lambda;
    secretRotation.addEnvironment('PROVIDER_SETTINGS_SECRET_ID', secrets['provider-settings'].secretArn);
    for (const [id, name] of [
      ['RefreshTokensRotation', 'refresh-tokens'],
      ['ProviderSettingsRotation', 'provider-settings'],
    ] as const) {
      new SecretRotation(this, id, {
        secret: secrets[name],
        rotation: secretRotation,
        every: 'rate(90 days)',
        window: '4h',
      });
    }

    const finishing = withoutRoute('finish-deletions');
    audit.of(finishing);
    new Rule(this, 'FinishDeletions', {
      description: 'Finishes the deletions that were interrupted',
      schedule: Schedule.rate(Duration.minutes(10)),
      targets: [new LambdaFunction(finishing.lambda)],
    });

    const publishing = settings.publishEvents
      ? new EventPublishing(this, 'EventPublishing', {
          busName: settings.stack,
          archiveDays: settings.archiveDays,
          table,
          key,
          publisher: (environment) => withoutRoute('publish-events', { environment }),
        })
      : undefined;

    const { topic } = new AlarmTopic(this, 'Alarms', {
      secrets: Object.values(secrets),
      email: settings.alarmEmail,
      key,
    });

    // Last, the function whose failure is noticed most: what others check tokens with is live before it.
    const issuesTokens = ({ path }: AnyEndpoint): boolean => path === tokenPath;
    const inOrder = [...endpoints]
      .sort(([, a], [, b]) => Number(issuesTokens(a)) - Number(issuesTokens(b)))
      .map(([key, endpoint]) => {
        const concurrency = issuesTokens(endpoint) ? tokenConcurrencyOf(settings) : {};
        const props = { ...shared, access: endpoint, ...concurrency };
        return { endpoint, served: new ServiceFunction(this, key, props) };
      });
    const functions = inOrder.map(({ served }) => served);
    const live = new LiveVersions(this, 'LiveVersions', {
      application: settings.stack,
      atOnce: settings.canariesAtOnce,
      check: settings.canary
        ? newVersionCheck(withoutRoute('check-new-versions'), functions, settings.stack)
        : undefined,
    });
    const guard = withoutRoute('guard-table-format');
    const format = new TableFormat(this, 'TableFormat', { tableName: table.tableName, guard });
    format.checkBefore(this.node.findAll().filter((one) => one instanceof ServiceFunction));
    this.watching = new Watching(this, 'Watching', {
      topic,
      settings,
      measurements: new Measurements(settings.stack, api.api, table),
      rotations: [keyRotation, secretRotation],
      finishing: finishing.lambda,
      endpoints: inOrder.map((watched) => ({ ...watched, isThrottled: api.isThrottled(watched.served.key) })),
      forwarder: forwarder.lambda,
      undeliveredAudit: audit.undelivered,
      publishing,
      role: live.role,
    });
    for (const { endpoint, served } of inOrder) {
      if (isAudited(endpoint)) audit.of(served);
      api.addRoute(served.key, endpoint, live.of(served, this.watching));
    }
    format.recordAfter(live.aliases);

    new CfnOutput(this, versionOutput, { value: version });
    new CfnOutput(this, 'ApiUrl', { value: api.url });
    new CfnOutput(this, 'TableName', { value: table.tableName });
    new CfnOutput(this, 'AlarmTopic', { value: topic.topicArn });
    new CfnOutput(this, 'AuditLogGroup', { value: audit.logGroup.logGroupName });
    new CfnOutput(this, 'UndeliveredAudit', { value: audit.undelivered.queueUrl });
    if (publishing) {
      new CfnOutput(this, 'EventBusName', { value: publishing.bus.eventBusName });
      new CfnOutput(this, 'DeadLetterQueueUrl', { value: publishing.deadLetters.queueUrl });
    }
    // What the commands of docs/operating.md rotate.
    new CfnOutput(this, 'SigningKeysSecretArn', { value: secrets['signing-keys'].secretArn });
    new CfnOutput(this, 'RefreshTokensSecretArn', { value: secrets['refresh-tokens'].secretArn });
    new CfnOutput(this, 'ProviderSettingsSecretArn', { value: secrets['provider-settings'].secretArn });
    new CfnOutput(this, 'OperatorFunctionName', { value: operator.lambda.functionName });
  }
}

const tokenConcurrencyOf = ({ tokenConcurrency, tokenReservedConcurrency }: Settings) => ({
  warm: tokenConcurrency,
  ...(tokenReservedConcurrency && { reservedConcurrentExecutions: tokenReservedConcurrency }),
});

const environmentOf = (settings: Settings, issuer: string): Record<string, string> => ({
  ISSUER: issuer,
  METRICS_NAMESPACE: settings.stack,
  ...tokenVariables(settings),
  ...(settings.originSecretHashes !== undefined && { ORIGIN_SECRET_HASHES: settings.originSecretHashes }),
  ...(settings.edge && { VIEWER_ADDRESS: 'trusted' }),
  ...(settings.loopbackProviders && { LOOPBACK_PROVIDERS: 'allowed' }),
});
