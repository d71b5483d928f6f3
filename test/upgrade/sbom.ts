import { build } from 'esbuild';
import { execa } from 'execa';
import * as v from 'valibot';
import { readFunctions } from '../../infra/endpoints.ts';
import { bundledPackages } from '../../infra/package/bundled-packages.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { bundleOptions } from '../support/bundle-options.ts';
import { runCheck } from '../support/steps.ts';

const { name } = packageJson;

/** Licences whose code a company may run for others without publishing its own. */
const acceptedLicences = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

const componentSchema = v.looseObject({
  /** `NAME@VERSION`. */
  'bom-ref': v.string(),
  name: v.string(),
  version: v.string(),
  licenses: v.optional(
    v.array(
      v.object({
        license: v.optional(v.object({ id: v.optional(v.string()) })),
        expression: v.optional(v.string()),
      }),
    ),
    [],
  ),
});
type Component = v.InferOutput<typeof componentSchema>;

const sbomSchema = v.looseObject({
  metadata: v.looseObject({ component: v.looseObject({}) }),
  components: v.array(componentSchema),
  dependencies: v.array(v.looseObject({ ref: v.string() })),
});

const licencesOf = ({ licenses }: Component): string[] =>
  licenses.map(({ license, expression }) => license?.id ?? expression ?? 'unknown');

/** The packages of which the functions' bundles contain something, as `NAME@VERSION`. */
async function deployedPackages(): Promise<Set<string>> {
  const { endpoints, others } = readFunctions();
  const entryPoints = [...endpoints.keys(), ...others.keys()].map((key) => `functions/${key}.ts`);
  const { metafile } = await build({
    ...bundleOptions,
    entryPoints,
    outdir: 'bundles',
    metafile: true,
    write: false,
  });
  return new Set(bundledPackages([metafile]).map((one) => `${one.name}@${one.version}`));
}

/**
 * Prints the software bill of materials of what is deployed, as CycloneDX: npm's own list, without
 * the packages of which no function contains anything.
 * @throws Error for a package that npm does not list, and for a licence that was not accepted yet
 * @see https://cyclonedx.org/docs/1.5/json/
 */
runCheck(async () => {
  const { stdout } = await execa('npm', [
    'sbom',
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
  ]);
  const sbom = v.parse(sbomSchema, JSON.parse(stdout));
  const bundled = await deployedPackages();
  const components = sbom.components.filter((one) => bundled.has(one['bom-ref']));
  const listed = new Set(components.map((one) => one['bom-ref']));
  for (const one of bundled)
    if (!listed.has(one)) throw new Error(`npm sbom does not list ${one}, which is bundled.`);
  for (const component of components) {
    const licences = licencesOf(component);
    if (licences.length === 0 || licences.some((one) => !acceptedLicences.includes(one)))
      throw new Error(
        `${component.name} ${component.version} has the licence ${licences.join(', ') || 'unknown'}. Read it before you deploy the package.`,
      );
  }
  const dependencies = sbom.dependencies.filter(({ ref }) => listed.has(ref));
  // npm names it after the folder.
  const component = { ...sbom.metadata.component, name };
  const metadata = { ...sbom.metadata, component };
  const deployed = { ...sbom, metadata, components, dependencies };
  process.stdout.write(`${JSON.stringify(deployed, null, 2)}\n`);
});
