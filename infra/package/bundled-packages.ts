import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import * as v from 'valibot';

const manifestSchema = v.object({
  name: v.string(),
  version: v.string(),
  license: v.optional(v.string(), 'unknown'),
});

/** An installed package of which a bundle contains something. */
export interface BundledPackage extends v.InferOutput<typeof manifestSchema> {
  folder: string;
}

export const packageIn = (folder: string): BundledPackage => {
  const text = readFileSync(join(folder, 'package.json'), 'utf8');
  return { ...v.parse(manifestSchema, JSON.parse(text)), folder };
};

/** The packages of which bundles contain something, in the order of their folders. */
export function bundledPackages(metafiles: Metafile[]): BundledPackage[] {
  const outputs = metafiles.flatMap(({ outputs }) => Object.values(outputs));
  const files = outputs.flatMap(({ inputs }) =>
    Object.entries(inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([file]) => file),
  );
  const folders = files.flatMap(
    (file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.slice(0, 1) ?? [],
  );
  return [...new Set(folders)].toSorted().map(packageIn);
}
