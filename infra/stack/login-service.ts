import { type App, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Key } from 'aws-cdk-lib/aws-kms';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { type AnyEndpoint, isAudited } from '../../lib/http/endpoint.ts';
import { tokenPath } from '../../lib/tokens/issuer.ts';
import type { Functions } from '../endpoints.ts';
import { type Settings, tokenVariables } from '../settings/settings.ts';
import { version } from '../version.ts';
import { alarmTopic } from './alarms.ts';
import { AuditTrail } from './audit-trail.ts';
import { stackDescription, versionOutput, versionTag } from './description.ts';
import { EventPublishing } from './event-publishing.ts';
import { guardTableFormat, LiveVersions, newVersionCheck } from './live-versions.ts';
import { measurementsOf } from './measurements.ts';
import { pinSettings } from './pinned-settings.ts';
import { allow } from './rights.ts';
import { awaitFirstRotation, rotate, signingKeyWindows } from './rotations.ts';
import { ServiceApi } from './service-api.ts';
import { serviceSecrets, serviceTable } from './service-data.ts';
import { type Deployment, ServiceFunction } from './service-function.ts';
import { Watching } from './watching.ts';

/** The whole service: an HTTP API with one function per endpoint, the table, the secrets, and the operator's function. */
export class LoginService extends Stack {
  /** The stack within this one, with the alarms. */
  readonly watching: Watching;

  constructor(app: App, settings: Settings, { endpoints, others }: Functions) {
    const { account, region, stage, tags, kmsKeyArn } = settings;
    super(app, settings.stack, {
      description: stackDescription,
      tags: { ...tags, [versionTag]: version },
      terminationProtection: stage === 'production',
      ...definedOnly({ env: account && region ? { account, region } : undefined }),
    });
    pinSettings(this, settings);
    const key = kmsKeyArn ? Key.fromKeyArn(this, 'Key', kmsKeyArn) : undefined;
    const table = serviceTable(this, settings, key);
    const secrets = serviceSecrets(this, settings, key);
    const api = new ServiceApi(this, 'Api', settings, key);
    const deployment: Deployment = {
      settings,
      key,
      table,
      secrets,
      environment: environmentOf(settings, api.url),
    };

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

    const publisher = (environment: Record<string, string>) =>
      withoutRoute('publish-events', { environment }).lambda;
    const publishing = settings.publishEvents
      ? new EventPublishing(this, 'EventPublishing', deployment, publisher)
      : undefined;

    const topic = alarmTopic(this, deployment);
    // Last, the function whose failure is noticed most: what others check tokens with is live before it.
    const issuesTokens = ({ path }: AnyEndpoint): boolean => path === tokenPath;
    const inOrder = [...endpoints]
      .sort(([, a], [, b]) => Number(issuesTokens(a)) - Number(issuesTokens(b)))
      .map(([key, endpoint]) => {
        const concurrency = issuesTokens(endpoint) ? tokenConcurrencyOf(settings) : {};
        return { endpoint, served: new ServiceFunction(this, key, endpoint, deployment, concurrency) };
      });
    const functions = inOrder.map(({ served }) => served);
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
      endpoints: inOrder.map((watched) => ({ ...watched, isThrottled: api.isThrottled(watched.served.key) })),
      forwarder: forwarder.lambda,
      undeliveredAudit: audit.undelivered,
      publishing,
    });
    for (const { endpoint, served } of inOrder) {
      if (isAudited(endpoint)) audit.of(served);
      api.addRoute(served.key, endpoint, live.of(served, this.watching));
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
    for (const [name, value] of Object.entries(definedOnly(outputs))) new CfnOutput(this, name, { value });
  }
}

const tokenConcurrencyOf = ({ tokenConcurrency, tokenReservedConcurrency }: Settings) => ({
  warm: tokenConcurrency,
  ...definedOnly({ reservedConcurrentExecutions: tokenReservedConcurrency }),
});

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
