/** The oldest version of Node that an app with the package can run on. */
export const oldestNode = '22.13';

/** Says which Node the package needs; undefined if this one will do. */
export function nodeProblem(): string | undefined {
  const { node } = process.versions;
  if (isAtLeast(node, oldestNode)) return;
  return `login-service needs Node ${oldestNode} or newer. This is ${node}.`;
}

function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}
