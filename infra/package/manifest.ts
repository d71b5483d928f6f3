import packageJson from '../../package.json' with { type: 'json' };
import { oldestNode } from './node-version.ts';
import { startPackages } from './start-packages.ts';

/**
 * The app's own packages that the construct uses, from the oldest versions that make the same
 * template as the newest.
 */
const peers = { 'aws-cdk-lib': '^2.253.0', constructs: '^10.5.0' };

/**
 * The package.json of the package.
 * @param code the folder of the bundled code, and `types` that of its declarations
 */
export function packageManifest(code: string, types: string) {
  const { name, version, description, license } = packageJson;
  const optional = Object.keys(startPackages);
  return {
    name,
    version,
    description,
    license,
    engines: { node: `>=${oldestNode}` },
    main: `${code}/index.cjs`,
    types: `${types}/infra/package/index.d.ts`,
    exports: {
      '.': { types: `${types}/infra/package/index.d.ts`, default: `${code}/index.cjs` },
      './package.json': './package.json',
    },
    bin: { [name]: `${code}/command.mjs` },
    // No registry has this name, so only `npm publish --registry` publishes the package.
    publishConfig: { registry: 'https://name-your-own-registry.invalid/' },
    peerDependencies: { ...peers, ...caretOf(startPackages) },
    peerDependenciesMeta: Object.fromEntries(optional.map((one) => [one, { optional: true }])),
  };
}

const caretOf = (packages: Record<string, string>) =>
  Object.fromEntries(Object.entries(packages).map(([name, version]) => [name, `^${version}`]));
