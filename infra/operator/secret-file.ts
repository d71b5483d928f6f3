import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';

const secretFields = ['account_secret', 'client_secret', 'login_app_token'];

/**
 * Runs a command that creates a secret, and writes the secret to a new file that only its owner can read. The file is
 * created first, so that no secret is created that has no place to go.
 * @returns the result with the file's name in the secret's place
 * @throws Error when there is such a file already, or when it cannot be written
 */
export async function secretToFile(
  file: string,
  run: () => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const descriptor = createFile(file);
  try {
    const fields = Object.entries(await run());
    const [, secret] = fields.find(([name]) => secretFields.includes(name)) ?? [];
    writeFileSync(descriptor, `${String(secret)}\n`);
    return Object.fromEntries(
      fields.map(([name, value]) => (secretFields.includes(name) ? [`${name}_file`, file] : [name, value])),
    );
  } catch (error) {
    rmSync(file);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function createFile(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (error) {
    const exists = Object(error).code === 'EEXIST';
    throw new Error(`--secret-to: the file ${file} ${exists ? 'exists already' : 'cannot be created'}.`);
  }
}
