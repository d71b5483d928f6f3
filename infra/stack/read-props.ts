import { Stack, Token } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import {
  forOneDeployment,
  readSettings,
  regionOf,
  type Settings,
  SettingsError,
} from '../settings/settings.ts';
import { PropError, shown } from './prop-error.ts';
import type { LoginServiceProps, ServiceResources } from './service-props.ts';

/** Props as an app gave them, perhaps without heeding their types. */
type Given = Record<string, unknown>;

interface ResourceProp {
  /** The end of the error message `must be …`. */
  accepted: string;
  /** A property that every such construct has. */
  has: string;
  /** Settings whose place it takes, or that are about a resource of the service's own. */
  replaces: readonly string[];
  /**
   * The region that it must be in.
   * @default the stack's
   */
  region?: string;
}

const resourceProps: Record<keyof ServiceResources | 'vpc', ResourceProp> = {
  certificate: {
    accepted: 'a certificate of ACM (ICertificate)',
    has: 'certificateArn',
    replaces: ['certificateArn'],
  },
  encryptionKey: { accepted: 'a key of KMS (IKey)', has: 'keyArn', replaces: ['kmsKeyArn'] },
  table: {
    accepted: 'a table of DynamoDB (ITable)',
    has: 'tableArn',
    replaces: ['tableName', 'tableStreamArn', 'warmReadUnits', 'warmWriteUnits', 'maxWriteUnits'],
  },
  domain: {
    accepted: 'a domain of aws-apigatewayv2 (IDomainName)',
    has: 'regionalDomainName',
    replaces: ['domainName', 'certificateArn'],
  },
  eventBus: { accepted: 'a bus of EventBridge (IEventBus)', has: 'eventBusArn', replaces: [] },
  alarmTopic: { accepted: 'a topic of SNS (ITopic)', has: 'topicArn', replaces: [] },
  vpc: { accepted: 'a VPC (IVpc)', has: 'vpcId', replaces: [] },
  edgeCertificate: {
    accepted: 'a certificate of ACM (ICertificate)',
    has: 'certificateArn',
    replaces: ['edgeCertificateArn'],
    region: 'us-east-1',
  },
  edgeEncryptionKey: {
    accepted: 'a key of KMS (IKey)',
    has: 'keyArn',
    replaces: ['edgeKmsKeyArn'],
    region: 'us-east-1',
  },
};
const allResourceProps = Object.entries(resourceProps);

const hookProp: ResourceProp = {
  accepted: 'a function of Lambda (IFunction), or the name or ARN of one',
  has: 'functionArn',
  replaces: [],
};

/** Settings, each with the prop for a resource that can come instead. */
const alternatives = new Map([
  ['certificateArn', 'certificate'],
  ['kmsKeyArn', 'encryptionKey'],
  ['domainName', 'domain'],
  ['edgeCertificateArn', 'edgeCertificate'],
  ['edgeKmsKeyArn', 'edgeEncryptionKey'],
]);

/** Props that are no settings. */
const noSettings = [...Object.keys(resourceProps), 'vpcSubnets', 'securityGroups'];

/** Settings that a service gets from its stack, with the stack's own props for them. */
const ofStack = new Map([
  ['stack', 'stackName'],
  ['account', 'env'],
  ['region', 'env'],
  ['tags', 'tags'],
]);

/**
 * The settings of a service, with the ARNs of those that are resources of the app. Those for one
 * deployment may come by the context of the app, too, which overrides its props.
 * @throws PropError naming the first prop that is wrong
 */
export function readProps(service: Construct, props: LoginServiceProps): Settings {
  const given: Given = { ...definedOnly(props), ...settingsInContext(service) };
  for (const [name, own] of ofStack)
    if (name in given) throw new PropError(service, name, `is the prop ${own} of the stack`);
  requireResources(service, given);
  requireOneSource(service, given);
  const settings = readSettingProps(service, given);
  requireForEvents(service, props, settings);
  const { certificate, edgeCertificate, loginHook } = props;
  const arns = {
    certificateArn: certificate?.certificateArn,
    edgeCertificateArn: edgeCertificate?.certificateArn,
    loginHook: typeof loginHook === 'object' ? loginHook.functionArn : undefined,
  };
  return { ...settings, ...definedOnly(arns) };
}

/** The settings for one deployment that the context of the app has (`-c name=value`). */
const settingsInContext = ({ node }: Construct): Given =>
  definedOnly(Object.fromEntries(forOneDeployment.map((name) => [name, node.tryGetContext(name)])));

/** Requires resources of the right kinds, in the right regions. */
function requireResources(service: Construct, given: Given): void {
  const hook: [string, ResourceProp][] =
    typeof given.loginHook === 'string' ? [] : [['loginHook', hookProp]];
  for (const [name, { accepted, has, region }] of [...allResourceProps, ...hook]) {
    if (!(name in given)) continue;
    const resource = given[name];
    if (!Construct.isConstruct(resource) || !(has in resource))
      throw new PropError(service, name, `must be ${accepted}, not ${shown(resource)}`);
    const needed = region ?? Stack.of(service).region;
    const actual = knownRegion(resource, String(Object(resource)[has]));
    if (actual !== undefined && !Token.isUnresolved(needed) && actual !== needed)
      throw new PropError(service, name, `must be in the region ${needed}, not in ${actual}`);
  }
}

/**
 * The region in the ARN of a resource or, if the app makes it, that of its stack. An imported one
 * may be elsewhere than its stack.
 */
function knownRegion(resource: Construct, arn: string): string | undefined {
  const isMade = resource.node.defaultChild !== undefined;
  const region = regionOf(arn) ?? (isMade ? Stack.of(resource).region : undefined);
  return region && !Token.isUnresolved(region) ? region : undefined;
}

/** Requires that a resource comes once, and without settings about another one. */
function requireOneSource(service: Construct, given: Given): void {
  const handedIn = allResourceProps.filter(([name]) => name in given);
  for (const [name, { replaces }] of handedIn) {
    const others = handedIn.filter(
      ([other, about]) => other !== name && about.replaces.some((one) => replaces.includes(one)),
    );
    const rival = [...replaces, ...others.map(([other]) => other)].find((one) => one in given);
    if (rival) throw new PropError(service, rival, `must not come with ${name}`);
  }
}

/** Reads the props that are settings. */
function readSettingProps(service: Construct, given: Given): Settings {
  const { stackName, account, region } = Stack.of(service);
  const isPlaceKnown = !Token.isUnresolved(account + region);
  if (given.edge && !isPlaceKnown)
    throw new PropError(
      service,
      'edge',
      'must come with an account and a region in the env of the stack',
    );
  const entries = Object.entries(given).filter(
    ([name, value]) =>
      !noSettings.includes(name) && (name !== 'loginHook' || typeof value === 'string'),
  );
  const values: Given = {
    ...Object.fromEntries(entries),
    stack: stackName,
    ...(isPlaceKnown ? { account, region } : {}),
  };
  const replaced = allResourceProps.flatMap(([name, { replaces }]) =>
    name in given ? replaces : [],
  );
  try {
    return readSettings(values, undefined, replaced);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const { setting, problem } = error;
    throw new PropError(service, ...inPropWords(setting, problem, { ...given, ...values }));
  }
}

/** The name and the problem of a setting, in the words of an app that gave it as a prop. */
function inPropWords(setting: string, problem: string, given: Given): [string, string] {
  const own = ofStack.get(setting);
  const alternative = alternatives.get(setting);
  const value = given[setting];
  if (problem.startsWith('is unknown'))
    return [setting, 'is unknown; docs/embedding.md and docs/settings.md list them all'];
  if (/^must (be|name) /.test(problem)) {
    // Somebody may have given the secret itself.
    const isShown = value !== undefined && setting !== 'originSecretHashes';
    const instead = isShown ? `, not ${shown(value)}` : '';
    const isUnknown = alternative !== undefined && Token.isUnresolved(value);
    const hint = isUnknown ? `; there is the prop ${alternative}` : '';
    return [own ? `${own} of the stack` : setting, `${problem}${instead}${hint}`];
  }
  const named = alternative && value === undefined ? `${setting} or ${alternative}` : setting;
  const [replaced, resource] =
    [...alternatives].find(([one, other]) => problem.includes(one) && other in given) ?? [];
  return [named, replaced && resource ? problem.replace(replaced, resource) : problem];
}

/** Requires what published events need of the table and the bus. */
function requireForEvents(
  service: Construct,
  { table, eventBus }: LoginServiceProps,
  { publishEvents, archiveDays }: Settings,
): void {
  if (eventBus && !publishEvents)
    throw new PropError(service, 'eventBus', 'must come with publishEvents');
  if (table && publishEvents && !table.tableStreamArn)
    throw new PropError(
      service,
      'table',
      'must have a stream, unless publishEvents is false: import it by its tableStreamArn, too',
    );
  const { account } = Stack.of(service);
  const [, , , , owner = account] = eventBus?.eventBusArn.split(':') ?? [];
  const isForeign = owner !== account && !Token.isUnresolved(owner) && !Token.isUnresolved(account);
  if (archiveDays && isForeign)
    throw new PropError(service, 'archiveDays', 'must not come with the bus of another account');
}
