import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, DefaultStackSynthesizer } from 'aws-cdk-lib';
import { AssetManifestArtifact, type CloudAssembly, UNKNOWN_REGION } from 'aws-cdk-lib/cx-api';
import type { Settings } from '../../settings/settings.ts';
import { deployService } from '../../stack/deployment.ts';

/** Keys in the bucket begin with it, so that a policy can name them. */
export const keyPrefix = 'login-service/';

/** A bundle or a template on this machine, and its key in the bucket, which is made of its hash. */
export interface AssetFile {
  key: string;
  /** A template, or the folder of a bundle. */
  path: string;
  isFolder: boolean;
}

/** A bucket that is there, in the region of the deployment. */
export interface TemplateBucket {
  region: string;
  addressOf: (key: string) => string;
  /** @throws Error of one line for people */
  upload: (file: AssetFile) => Promise<void>;
}

interface Template {
  Parameters?: Record<string, { Default?: unknown }>;
  Resources: Record<string, { Type: string; Properties?: Record<string, unknown> }>;
}

/**
 * Synthesizes a deployment as `cdk deploy` does, but for the bucket that its templates name, and
 * without the check of a bootstrapped account.
 */
export function synthesizeFor(
  bucket: string,
  settings: Settings,
  context: Record<string, unknown>,
  outdir: string,
): CloudAssembly {
  const synthesizer = new DefaultStackSynthesizer({
    fileAssetsBucketName: bucket,
    bucketPrefix: keyPrefix,
    generateBootstrapVersionRule: false,
  });
  // An object of any type, since the CDK's class has getters that its own interface doesn't allow
  // to be undefined.
  const ofBucket: object = { defaultStackSynthesizer: synthesizer };
  const app = new App({ outdir, context, analyticsReporting: false, ...ofBucket });
  deployService(app, settings);
  return app.synth();
}

/** Lists what has to be in the bucket before the stacks are deployed. */
export function assetFilesOf({ artifacts, directory }: CloudAssembly): AssetFile[] {
  const files = artifacts
    .filter((one) => AssetManifestArtifact.isAssetManifestArtifact(one))
    .flatMap(({ contents }) => Object.values(contents.files ?? {}))
    .flatMap(({ source, destinations }) =>
      Object.values(destinations).map(({ objectKey }) => ({
        key: objectKey,
        path: join(directory, source.path ?? ''),
        isFolder: source.packaging === 'zip',
      })),
    );
  // The manifests of stacks share files.
  return [...new Map(files.map((file) => [file.key, file])).values()];
}

/**
 * Lists the stacks as whoever creates them has to know them, in the order of their creation.
 * @param bucket where their templates are
 */
export function stacksOf(
  assembly: CloudAssembly,
  bucket: Pick<TemplateBucket, 'region' | 'addressOf'>,
) {
  const templates = assetFilesOf(assembly).filter(({ isFolder }) => !isFolder);
  return assembly.stacks.map((stack) => {
    const { stackName, tags, stackTemplateAssetObjectUrl = '', environment } = stack;
    const { Parameters = {} }: Template = stack.template;
    const parameters = Object.entries(Parameters).map(([name, { Default }]) => [name, Default]);
    const text = JSON.stringify(stack.template);
    const within = templates.filter(({ key }) => text.includes(key));
    return {
      name: stackName,
      region: environment.region === UNKNOWN_REGION ? bucket.region : environment.region,
      template_url: bucket.addressOf(new URL(stackTemplateAssetObjectUrl).pathname.slice(1)),
      capabilities: capabilitiesOf([stack.template, ...within.map(readTemplate)]),
      parameters: Object.fromEntries(parameters),
      tags,
    };
  });
}

const readTemplate = ({ path }: AssetFile): Template => JSON.parse(readFileSync(path, 'utf8'));

/** Properties that give a resource of IAM a name of its own. */
const namesOfIam = [
  'GroupName',
  'InstanceProfileName',
  'ManagedPolicyName',
  'RoleName',
  'UserName',
];

/** @see AWS CloudFormation API reference, "CreateStack": `Capabilities` */
function capabilitiesOf(templates: Template[]): string[] {
  const ofIam = templates
    .flatMap(({ Resources }) => Object.values(Resources))
    .filter(({ Type }) => Type.startsWith('AWS::IAM::'));
  const isNamed = ofIam.some(({ Properties = {} }) =>
    namesOfIam.some((name) => name in Properties),
  );
  if (isNamed) return ['CAPABILITY_NAMED_IAM'];
  return ofIam.length > 0 ? ['CAPABILITY_IAM'] : [];
}
