import { dollars } from './measure.ts';
import { quotasFor, rates } from './quotas.ts';
import type { MeasuredRequests } from './requests.ts';

const sum = (parts: Record<string, number>): number => Object.values(parts).reduce((a, b) => a + b, 0);
const number = (value: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 });
const row = (cells: (string | number)[]): string => `| ${cells.join(' | ')} |`;

/** What each request consumes, and the price of a million. */
export function costTable(measured: MeasuredRequests): string {
  const head = [
    'Request',
    'Requests to the table',
    'Read units',
    'Write units',
    'Bytes logged',
    'Gateway, $',
    'Function, $',
    'Table, $',
    'Log, $',
    'A million, $',
  ];
  const rows = Object.values(measured).map(({ name, cost, waiting }) => {
    const parts = dollars(cost, waiting);
    const perMillion = [...Object.values(parts), sum(parts)].map((value) => (value * 1e6).toFixed(2));
    return row([name, cost.storeRequests, cost.readUnits, cost.writeUnits, cost.logBytes, ...perMillion]);
  });
  return [row(head), row(['---', ...head.slice(1).map(() => '---:')]), ...rows].join('\n');
}

/** How much of each quota each rate of logins uses; bold above the quota. */
export function limitTable({ login, unread }: MeasuredRequests): string {
  const head = ['Limit', 'Raised by', 'Most', ...rates.map((rate) => `${number(rate)} logins/s`)];
  const rows = quotasFor({ login: login.cost, unread: unread.cost }).map(
    ({ name, raisedBy, most, taken }) => {
      const cells = rates.map((rate) =>
        taken(rate) > most ? `**${number(taken(rate))}**` : number(taken(rate)),
      );
      return row([name, raisedBy, number(most), ...cells]);
    },
  );
  return [row(head), row(['---', '---', ...head.slice(2).map(() => '---:')]), ...rows].join('\n');
}
