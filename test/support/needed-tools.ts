import { execa } from 'execa';

/**
 * Makes sure of what a check needs besides npm, before it does anything else.
 * @param tools a command that succeeds if the tool is there, and the Debian package that has it
 * @throws Error with the one command that installs what is missing
 */
export async function requireTools(tools: [command: string, debianPackage: string][]): Promise<void> {
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
