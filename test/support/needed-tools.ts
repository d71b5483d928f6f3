import { execa } from 'execa';

type Tool = [command: string, debianPackage: string];
export const python: Tool = ['python3 -c "import venv, ensurepip"', 'python3-venv'];
export const java: Tool[] = [
  ['java -version', 'default-jdk-headless'],
  ['mvn --version', 'maven'],
];

/**
 * Makes sure of what a check needs besides npm, before it does anything else.
 * @param tools a command that succeeds if the tool is there, and the Debian package that has it
 * @throws Error with the one command that installs what is missing
 */
export async function requireTools(tools: Tool[]): Promise<void> {
  const results = await Promise.all(
    tools.map(async ([command, debianPackage]) => {
      const { failed } = await execa(command, { shell: true, reject: false });
      return failed ? [debianPackage] : [];
    }),
  );
  const missing = [...new Set(results.flat())];
  if (missing.length > 0)
    throw new Error(`Some tools are missing. This installs them:\n  apt-get install ${missing.join(' ')}`);
}
