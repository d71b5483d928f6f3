const width = 30;

/** Shows which part of a file is done, from 0 to 1. */
export type Progress = (share: number, lines: number) => void;

/** A bar on standard error, when that is a terminal; otherwise nothing. */
export function progressBar(stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr): Progress {
  if (!stream.isTTY) return () => undefined;
  return (share, lines) => {
    const done = Math.round(share * width);
    const bar = '#'.repeat(done) + '.'.repeat(width - done);
    stream.write(`\r[${bar}] ${Math.floor(share * 100)} %  ${lines} lines${share === 1 ? '\n' : ''}`);
  };
}
