import { clock } from '../../lib/foundation/clock.ts';
import { clockOffset } from './clock-offset.ts';

// Preloaded into a service under test, which then looks for the time where the test can move it, as does a time limit.
const { LOCAL_DIR } = process.env;
if (!LOCAL_DIR) throw new Error('A movable clock needs LOCAL_DIR.');
clock.now = () => new Date(Date.now() + clockOffset(LOCAL_DIR) * 1000);
const elapsed = performance.now.bind(performance);
performance.now = () => elapsed() + clockOffset(LOCAL_DIR) * 1000;
