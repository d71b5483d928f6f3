import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HeadBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import { zipSync } from 'fflate';
import { definedOnly } from '../../../lib/foundation/defined-only.ts';
import { explainAwsFailure } from '../../operator/target.ts';
import { keyPrefix, type TemplateBucket } from './assembly.ts';

/** The bucket that the templates name, and where the deployment is to be. */
export interface Given {
  bucket: string;
  /** The account that the bucket must belong to. */
  owner: string | undefined;
  region: string | undefined;
}

/**
 * Finds the bucket, before anything else is done. Whoever owns it could replace the code of the
 * functions, so S3 compares its owner in each call.
 * @throws Error of one line for people
 */
export async function openBucket({ bucket, owner, region }: Given): Promise<TemplateBucket> {
  const client = new S3Client({ followRegionRedirects: true, ...definedOnly({ region }) });
  const named = { Bucket: bucket, ...definedOnly({ ExpectedBucketOwner: owner }) };
  const { BucketRegion = region ?? (await client.config.region()) } = await client
    .send(new HeadBucketCommand(named))
    .catch((error: unknown) => {
      throw new Error(explain(Object(error), { bucket, owner, region }));
    });
  if (region !== undefined && region !== BucketRegion)
    throw new Error(
      `The bucket ${bucket} is in ${BucketRegion}, and the deployment in ${region}. Lambda takes code from a bucket of its own region only: name one in ${region}.`,
    );
  const { domainSuffix = 'amazonaws.com' } = RegionInfo.get(BucketRegion);
  return {
    region: BucketRegion,
    addressOf: (key) => `https://s3.${BucketRegion}.${domainSuffix}/${bucket}/${key}`,
    upload: async ({ key, path, isFolder }) => {
      const Body = isFolder ? zipOf(path) : readFileSync(path);
      await client
        .send(new PutObjectCommand({ ...named, Key: key, Body }))
        .catch((error: unknown) => {
          throw new Error(explain(Object(error), { bucket, owner, region }));
        });
    },
  };
}

/** A file that everybody may read, as Unix has it in the upper half of a zip's attributes. */
const readable = 0o100644 << 16;

/** A zip of the files of a folder, the same each time. */
function zipOf(folder: string): Uint8Array {
  const names = globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const files = names.map((file) => [file.slice(folder.length + 1), readFileSync(file)]);
  // Zips have no earlier time, in the time zone of this machine.
  const mtime = new Date(1980, 0, 1);
  return zipSync(Object.fromEntries(files), { mtime, os: 3, attrs: readable });
}

type Failure = { name?: string; message?: string; $metadata?: { httpStatusCode?: number } };

/** Says what is wrong with a bucket. An answer to HEAD has no body, so that its status has to do. */
function explain(failure: Failure, { bucket, owner, region }: Given): string {
  const inRegion = region === undefined ? '' : ` --region ${region}`;
  if (failure.$metadata?.httpStatusCode === 404)
    return `There is no bucket ${bucket}. Create it in the region of the deployment: aws s3 mb s3://${bucket}${inRegion}`;
  const other = owner === undefined ? 'another account' : `another account than ${owner}`;
  if (failure.$metadata?.httpStatusCode === 403)
    return `AWS refuses the bucket ${bucket}: it belongs to ${other} (see --bucket-owner), or your credentials are not valid, or they lack s3:ListBucket on it or s3:PutObject on ${keyPrefix}* in it.`;
  return explainAwsFailure(failure);
}
