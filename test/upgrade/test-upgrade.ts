import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { localDirectory } from '../../infra/local/local-files.ts';
import { documentedFetch } from '../support/loaded-once.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { type Service, serviceOf } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { countedChecks, runCheck, step } from '../support/steps.ts';
import { checkOut } from './checkout.ts';
import { fill } from './fill.ts';
import { releases } from './releases.ts';
import { expectPerson, use } from './use.ts';

const today = join(import.meta.dirname, '..', '..');

/**
 * Uses what each release has left in `LOCAL_DATA` with this version, then what this version leaves
 * with the release.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.git]);
  rmSync(localDirectory('upgrade'), { recursive: true });
  const { check, conclude } = countedChecks('upgrade');

  /** Does something with a service that the code of a folder starts on some data, and stops it. */
  const serving = async <Result>(
    root: string,
    data: string,
    work: (service: Service) => Promise<Result>,
  ) => {
    const running = await startService({ LOCAL_DATA: localDirectory('upgrade', data) }, { root });
    cleanUps.defer(() => running.kill().then(() => {}));
    // The API document is that of this version.
    const send = root === today ? documentedFetch : fetch;
    const result = await work(serviceOf(running.demo, running.directory, send));
    await running.stop();
    return result;
  };

  for (const release of releases) {
    const { version, commit } = release;
    const released = await step(`Check out release ${version}`, () => checkOut(commit));
    const pass = async (data: string, before: string, after: string) => {
      const left = await serving(before, data, fill);
      await serving(after, data, (service) => use(service, left, release));
      return left;
    };
    await check(`Upgrade from release ${version}`, async () => {
      await pass(`from-${version}`, released, today);
    });
    await check(`Go back to release ${version}, and forward again`, async () => {
      const data = `to-${version}`;
      const left = await pass(data, today, released);
      await serving(today, data, (service) => expectPerson(service, left));
    });
  }
  conclude();
});
