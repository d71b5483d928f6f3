import assert from 'node:assert/strict';
import {
  type Capability,
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import {
  CreateBucketCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { execa } from 'execa';
import { callOperator } from '../../infra/operator/call/call-operator.ts';
import { localAws } from '../../infra/operator/call/invoke-function.ts';
import { print } from '../support/steps.ts';
import { type Cloud, cloudEnvironment, physicalIdsOf, rotateSecrets } from './deployed-stack.ts';
import { startFront } from './front.ts';
import { region } from './ministack.ts';
import { overrides, unsupported } from './unsupported.ts';

const stack = 'from-templates';
const bucket = 'templates-of-the-service';
const capabilities: Capability[] = ['CAPABILITY_IAM'];
const settings = {
  stack,
  stage: 'development',
  canary: 'false',
};

/**
 * Uploads the templates of a deployment by `npm run template`, creates its stack as Terraform does,
 * and gets a token from it.
 */
export async function createFromTemplates(cloud: Cloud, cleanUps: AsyncDisposableStack) {
  const endpoint = { url: cloud.endpoint, secret_access_key: 'test' };
  const s3 = new S3Client(localAws(endpoint));
  const uploaded = (extra: Record<string, string> = {}) => templates(cloud, extra);
  await assert.rejects(uploaded(), /There is no bucket templates-of-the-service\. /);
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  const elsewhere = { account: '000000000000', region: 'eu-west-1' };
  await assert.rejects(
    uploaded(elsewhere),
    /is in us-east-1, and the deployment in eu-west-1\. Lambda takes code from a bucket of its own/,
  );

  const { stacks } = await uploaded();
  assert.equal(stacks.length, 1);
  const [{ template_url, ...made }] = stacks;
  assert.deepEqual(made, {
    name: stack,
    region,
    capabilities,
    parameters: {
      PinnedDeployment: 'none',
      PinnedStage: 'development',
      PinnedDomainName: 'none',
      PinnedTableName: 'own',
    },
    tags: made.tags,
  });
  const front = cleanUps.adopt(await startFront(cloud.endpoint), (server) => server.close());
  const Key = new URL(template_url).pathname.replace(`/${bucket}/`, '');
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }));
  const template = JSON.parse(String(await Body?.transformToString()));
  // MiniStack can't create all of it.
  const possible = JSON.stringify(possiblePart(template, front.url));
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: possible }));

  const cloudFormation = new CloudFormationClient(localAws(endpoint));
  await cloudFormation.send(
    new CreateStackCommand({
      StackName: made.name,
      TemplateURL: template_url,
      Capabilities: capabilities,
      Parameters: Object.entries<string>(made.parameters).map(([ParameterKey, ParameterValue]) => ({
        ParameterKey,
        ParameterValue,
      })),
    }),
  );
  const waiting = { client: cloudFormation, maxWaitTime: 300, minDelay: 1, maxDelay: 2 };
  await waitUntilStackCreateComplete(waiting, { StackName: stack });
  const physicalId = await physicalIdsOf(cloud, stack);
  front.leadTo(physicalId('ApiHttp17514DA7'));
  await rotateSecrets(endpoint, physicalId);

  const operator = { name: `${stack}-operator`, endpoint };
  const { login_app_id } = await callOperator(operator, 'login-apps create', { name: 'My app' });
  const { client_id, client_secret } = await callOperator(operator, 'clients create', {
    'login-app': login_app_id,
  });
  const answer = await fetch(`${front.url}/v2/marketing/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  assert.deepEqual([answer.status, Object(await answer.json()).token_type], [200, 'bearer']);
  const { Stacks: [{ Outputs = [] } = {}] = [] } = await cloudFormation.send(
    new DescribeStacksCommand({ StackName: stack }),
  );
  print(`    ${Outputs.find(({ OutputKey }) => OutputKey === 'Version')?.OutputValue}`);
}

/** Runs the command as a person does; what it prints. */
async function templates(cloud: Cloud, extra: Record<string, string>) {
  const context = Object.entries({ ...settings, ...extra }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const words = ['run', '--silent', 'template', '--', '--bucket', bucket, ...context];
  const { stdout, stderr, failed } = await execa('npm', words, {
    // The year 1980, with which zips begin, begins later there than in UTC.
    env: { ...cloudEnvironment(cloud), TZ: 'America/New_York' },
    reject: false,
  });
  if (failed) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** A template as JSON, as far as it matters here. */
interface Template {
  Resources: Record<string, { Type: string; DependsOn?: string[]; Properties: object }>;
}

/** The template without the resources that MiniStack can't create, with the front as the issuer. */
function possiblePart(template: Template, frontUrl: string): Template {
  const kept = Object.entries(template.Resources).filter(([, { Type }]) => !unsupported.has(Type));
  const names = kept.map(([name]) => name);
  const changed = kept.map(([name, resource]) => {
    const { DependsOn = [], Properties } = resource;
    const dependencies = [DependsOn].flat().filter((one) => names.includes(one));
    const { Environment: { Variables = {} } = {} } = Object(Properties);
    const withOverrides = { Variables: { ...Variables, ...overrides(frontUrl) } };
    const isFunction = resource.Type === 'AWS::Lambda::Function';
    const properties = isFunction ? { ...Properties, Environment: withOverrides } : Properties;
    return [name, { ...resource, DependsOn: dependencies, Properties: properties }];
  });
  return { ...template, Resources: Object.fromEntries(changed) };
}
