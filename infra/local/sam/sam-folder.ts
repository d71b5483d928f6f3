import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pascal, readFunctions } from '../../endpoints.ts';
import type { AwsEndpoint } from '../../operator/call/invoke-function.ts';
import type { Demo } from '../demo.ts';
import type { Route } from '../gateway.ts';
import { environmentOf } from '../load-functions.ts';
import { portOf } from '../local-data.ts';
import { writeWhole } from '../local-files.ts';
import { bundleFunctions } from './bundle-functions.ts';
import { openHostSockets } from './host-sockets.ts';
import { samEvents } from './sam-events.ts';

interface RunningStack {
  demo: Demo;
  awsEndpoint: AwsEndpoint;
  routes: readonly Route[];
}

/** Milliseconds after which the events get new credentials, which are valid for an hour. */
const renewal = 20 * 60_000;

/**
 * Writes the folder from which `sam local invoke` runs the functions of a running stack's endpoints
 * in containers: a template, the bundles, and the events of the interface. Only its owner may read
 * it, since the events are as good as passwords.
 * @returns the folder, and what takes it away
 */
export async function openSamFolder(directory: string, stack: RunningStack) {
  const { demo, awsEndpoint, routes } = stack;
  const folder = join(directory, 'sam');
  const code = join(folder, 'code');
  const events = join(folder, 'events');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const one of [folder, code, events]) mkdirSync(one, { mode: 0o700 });

  const ports = portsHere([demo.sandbox_url, demo.dynamodb_endpoint, awsEndpoint.url]);
  const variables = {
    ...environmentOf(demo, awsEndpoint),
    // A variable that SAM would otherwise take from the shell's own credentials.
    AWS_SESSION_TOKEN: '',
    HOST_PORTS: ports.join(' '),
    NODE_OPTIONS: '--import=/var/task/reach-host.mjs',
  };
  const keys = [...readFunctions().endpoints.keys()];
  writeWhole(join(folder, 'template.json'), templateOf(keys, variables));
  // SAM prefers variables of the shell to those of the template, but those of this file to both.
  const variablesFile = join(folder, 'variables.json');
  writeWhole(variablesFile, { Parameters: variables });
  writeFileSync(join(folder, 'samconfig.toml'), samConfig(variablesFile));
  copyFileSync(join(import.meta.dirname, 'reach-host.mjs'), join(code, 'reach-host.mjs'));

  const writeEvents = async () => {
    for (const [name, event] of await samEvents(demo, routes))
      writeWhole(join(events, `${name}.json`), event);
  };
  const [closeSockets] = await Promise.all([
    openHostSockets(code, ports),
    bundleFunctions(keys, code),
    writeEvents(),
  ]);
  const renewing = setInterval(() => void writeEvents().catch(() => {}), renewal);
  return {
    folder,
    close: (): void => {
      clearInterval(renewing);
      closeSockets();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ports of those addresses that only this machine has. */
function portsHere(urls: string[]): number[] {
  const here = urls.filter((url) => ['127.0.0.1', 'localhost'].includes(new URL(url).hostname));
  return here.map(portOf);
}

/** The functions for this machine's processor, which needs no emulation. */
function templateOf(keys: string[], variables: Record<string, string>): object {
  const functions = keys.map((key) => [pascal(key), functionOf(key, variables)]);
  return {
    AWSTemplateFormatVersion: '2010-09-09',
    Transform: 'AWS::Serverless-2016-10-31',
    Resources: Object.fromEntries(functions),
  };
}

const functionOf = (key: string, variables: Record<string, string>) => ({
  Type: 'AWS::Serverless::Function',
  Properties: {
    CodeUri: './code',
    Handler: `${key}.handler`,
    Runtime: 'nodejs24.x',
    Architectures: [process.arch === 'arm64' ? 'arm64' : 'x86_64'],
    MemorySize: 1024,
    // Longer than deployed: this machine may be busy.
    Timeout: 60,
    Environment: { Variables: variables },
  },
});

/**
 * Options that each command line would need otherwise. SAM looks for this file beside the template.
 */
const samConfig = (variablesFile: string): string => `\
version = 0.1

[default.local_invoke.parameters]
env_vars = ${JSON.stringify(variablesFile)}
# Downloads the image once, rather than ask for a newer one each time.
skip_pull_image = true
`;
