import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Linux tells of every socket and of every process's own; other systems do not. */
export const knowsSockets = existsSync('/proc/net/tcp');

/** The state of a socket that listens, and where in its line the address, the state and the inode are. @see proc_net_tcp(5) */
const listening = '0A';
const [addressAt, stateAt, inodeAt] = [1, 3, 9];

/** The addresses that a process listens on, in the kernel's writing: `0100007F:0BB8` is 127.0.0.1, port 3000. */
export function listeningSockets(processId: number): string[] {
  const descriptors = `/proc/${processId}/fd`;
  const own = new Set(readdirSync(descriptors).map((name) => targetOf(`${descriptors}/${name}`)));
  return ['tcp', 'tcp6']
    .map((family) => `/proc/${processId}/net/${family}`)
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[stateAt] === listening && own.has(`socket:[${fields[inodeAt]}]`))
    .map((fields) => fields[addressAt] ?? '');
}

/** A descriptor may be closed while it is looked at. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
