import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { fromCaller } from '../operator/files/caller-folder.ts';
import type { InvocableFunction } from './aws.ts';

/**
 * Loads the developer's login hook. Each of its failures is printed with its place in their code.
 * @param path of the file, as `LOGIN_HOOK` names it
 * @throws Error saying what is wrong with the file
 */
export async function loadLoginHook(
  path: string,
  print: (line: string) => void,
): Promise<InvocableFunction> {
  const file = fromCaller(path);
  const { handler, ...others } = await load(path, file);
  if (typeof handler !== 'function') {
    const names = Object.keys(others).join(', ') || 'nothing';
    throw new Error(`LOGIN_HOOK=${path} exports no function named handler. It exports ${names}.`);
  }
  return async (event, context) => {
    const seconds = Number(process.env.LOGIN_HOOK_SECONDS ?? 3);
    const isLate = () => print(`LOGIN_HOOK=${path} did not answer within ${seconds} s.`);
    const timer = setTimeout(isLate, seconds * 1000);
    try {
      return await handler(event, context);
    } catch (error) {
      print(`LOGIN_HOOK=${path} failed: ${withPlace(error, file)}`);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

async function load(path: string, file: string): Promise<Record<string, unknown>> {
  if (!existsSync(file)) throw new Error(`LOGIN_HOOK=${path} names no file: there is no ${file}.`);
  const { href } = pathToFileURL(file);
  return import(href).catch((cause: unknown) => {
    const problem = cause instanceof SyntaxError ? syntaxErrorOf(href) : withPlace(cause, file);
    throw new Error(`LOGIN_HOOK=${path} cannot be loaded: ${problem}`, { cause });
  });
}

/**
 * The first line of an error with the place in the developer's code: `TypeError: …
 * (/home/me/hook.mjs:3:9)`.
 */
function withPlace(error: unknown, file: string): string {
  const { stack = '' } = error instanceof Error ? error : {};
  const [first] = String(error).split('\n');
  const frames = [...stack.matchAll(/^ +at .*?\(?(file:\/\/\/\S+?):(\d+:\d+)\)?$/gm)];
  const places = frames.map(([, url = '', position]) => `${fileURLToPath(url)}:${position}`);
  const own = places.find(
    (place) => place.startsWith(dirname(file)) && !place.includes('/node_modules/'),
  );
  const place = own ?? places[0];
  return place === undefined ? `${first}` : `${first} (${place})`;
}

/**
 * A syntax error with its place, which only Node's own output names. It may be in a file that the
 * hook imports.
 */
function syntaxErrorOf(href: string): string {
  const { stderr } = spawnSync(process.execPath, ['--import', href, '--eval', ''], {
    encoding: 'utf8',
  });
  const [, file = '', line] = stderr.match(/^(?:file:\/\/)?(\/.*):(\d+)$/m) ?? [];
  const [error = 'SyntaxError'] = stderr.match(/^SyntaxError.*$/m) ?? [];
  return `${error} (${decodeURIComponent(file)}:${line})`;
}
