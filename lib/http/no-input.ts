import * as v from 'valibot';
import { refuseAsInvalidRequest } from '../validation.ts';

/** For endpoints that look at nothing of the request but who is calling. */
export const noInput = { parse: [], input: v.unknown(), refuse: refuseAsInvalidRequest };
