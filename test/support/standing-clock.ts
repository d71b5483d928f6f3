import { clock } from '../../lib/foundation/clock.ts';

/** Stops the clock of the domain in this process; the returned function moves it, by milliseconds. */
export function stopClock(): (milliseconds: number) => void {
  let now = Date.UTC(2026, 0, 31);
  clock.now = () => new Date(now);
  return (milliseconds) => {
    now += milliseconds;
  };
}
