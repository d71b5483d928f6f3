import { buffer } from 'node:stream/consumers';

/**
 * Prints the lines that a converter yields, but only once all are known: after an error, nothing is
 * printed, and the exit code is 1. If something was left out that somebody logs in with, standard
 * error says how much by provider, and the exit code is 2.
 * @param linesOf gets a function that counts what is left out, by its provider
 */
export async function convert(linesOf) {
  const leftOut = new Map();
  const leaveOut = (provider) => leftOut.set(provider, (leftOut.get(provider) ?? 0) + 1);
  try {
    const lines = await Array.fromAsync(linesOf(leaveOut));
    for (const line of lines) console.log(JSON.stringify(line));
  } catch (error) {
    console.error(`Nothing was written. ${error.message}`);
    process.exitCode = 1;
    return;
  }
  for (const [provider, count] of leftOut) console.error(`Left out: ${count} of ${provider}`);
  if (leftOut.size > 0) process.exitCode = 2;
}

/** The JSON on standard input. */
export async function readJson() {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const bytes = await buffer(process.stdin);
  let text;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new Error('The input is not UTF-8.');
  }
  return parse(text, 'The input');
}

/** The JSON in each line on standard input. */
export async function* readJsonLines() {
  let number = 0;
  for await (const line of readLines()) {
    number += 1;
    if (line.trim() !== '') yield parse(line, `Line ${number}`);
  }
}

async function* readLines() {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (...given) => {
    try {
      return decoder.decode(...given);
    } catch {
      throw new Error('The input is not UTF-8.');
    }
  };
  let line = '';
  for await (const chunk of process.stdin) {
    const [end, ...next] = decode(chunk, { stream: true }).split('\n');
    line += end;
    for (const beginning of next) {
      yield line;
      line = beginning;
    }
  }
  yield line + decode();
}

/** Reads JSON. Its own error would quote the text, which is about people. */
function parse(text, what) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${what} is not JSON.`);
  }
}
