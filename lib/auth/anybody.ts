import { authentication } from './credentials.ts';

/** For what everybody may know. */
export const anybody = authentication<undefined>(async () => undefined);
