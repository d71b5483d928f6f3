export { installed, localDirectory } from '../../infra/local/local-directories.ts';
