import { execa } from 'execa';
import { print } from './steps.ts';

/** A command that succeeds if a tool is there, and the Debian package that has the tool. */
type Tool = [command: string, debianPackage: string];

/** What the checks of `.ci/run` need besides npm. */
export const tools = {
  git: ['git --version', 'git'],
  python: ['python3 -c "import venv, ensurepip"', 'python3-venv'],
  jdk: ['javac -version', 'default-jdk-headless'],
  maven: ['mvn --version', 'maven'],
  chromium: ['command -v chromium', 'chromium'],
  font: [
    'find /usr/share/fonts /System/Library/Fonts -name "*.[ot]t[cf]" | grep .',
    'fonts-liberation',
  ],
} satisfies Record<string, Tool>;

/** What `npm run test:sam` needs besides. `.ci/run` leaves it out where there is no podman. */
export const containerTools: Tool[] = ['podman', 'runc', 'slirp4netns'].map((name) => [
  `command -v ${name}`,
  name,
]);

async function missingPackages(tools: Tool[]): Promise<string[]> {
  const results = await Promise.all(
    tools.map(async ([command, debianPackage]) => {
      const { failed } = await execa(command, { shell: true, reject: false });
      return failed ? [debianPackage] : [];
    }),
  );
  return [...new Set(results.flat())];
}

/**
 * Checks for tools besides npm.
 * @throws Error with the one command that installs what is missing
 */
export async function requireTools(tools: Tool[]): Promise<void> {
  const missing = await missingPackages(tools);
  if (missing.length > 0)
    throw new Error(
      `Some tools are missing. On Debian, this installs them:\n  apt-get install ${missing.join(' ')}`,
    );
}

// `npm run tools` prints the packages of what this machine lacks, on one line.
if (import.meta.main) print((await missingPackages(Object.values(tools))).join(' '));
