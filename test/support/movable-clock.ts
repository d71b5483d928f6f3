import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clock } from '../../lib/foundation/clock.ts';

// Preloaded into a service under test, which then looks for the time where the test can move it, as
// does a time limit.
const { LOCAL_DIR } = process.env;
if (!LOCAL_DIR) throw new Error('A movable clock needs LOCAL_DIR.');
const offset = () => Number(readFileSync(join(LOCAL_DIR, 'clock-offset'), 'utf8')) * 1000;
clock.now = () => new Date(Date.now() + offset());
const elapsed = performance.now.bind(performance);
performance.now = () => elapsed() + offset();
