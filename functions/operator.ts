import { operate } from '../lib/operator/operate.ts';

export const handler = operate;
