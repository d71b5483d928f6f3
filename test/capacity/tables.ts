import { dollars } from './measure.ts';
import { assumptions, edgeParts, edgePrices, prices } from './prices.ts';
import { partitionEnds, quotasFor, rates } from './quotas.ts';
import type { MeasuredRequests } from './requests.ts';

const sum = (parts: Record<string, number>): number =>
  Object.values(parts).reduce((a, b) => a + b, 0);
const number = (value: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 });
const row = (cells: (string | number)[]): string => `| ${cells.join(' | ')} |`;

/**
 * Markdown of a table.
 * @param texts how many columns, from the left, are texts
 */
const tableOf = (head: string[], texts: number, rows: (string | number)[][]): string =>
  [row(head), row(head.map((_, place) => (place < texts ? '---' : '---:'))), ...rows.map(row)].join(
    '\n',
  );

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
    'Events, $',
    'A million, $',
  ];
  const rows = Object.values(measured).map(({ name, cost, waiting }) => {
    const parts = dollars(cost, waiting);
    const perMillion = [...Object.values(parts), sum(parts)].map((value) =>
      (value * 1e6).toFixed(2),
    );
    return [
      name,
      cost.storeRequests,
      cost.readUnits,
      cost.writeUnits,
      cost.logBytes,
      ...perMillion,
    ];
  });
  return tableOf(head, 1, rows);
}

/** What a million people cost in a month of 30 days: a login each, and four refreshes a day. */
export function monthTable({ login, refresh }: MeasuredRequests): string {
  const [logins, refreshes] = [1, 4 * 30];
  const each = logins + refreshes;
  const { auditBytes, publishing, copying, fixed } = assumptions;
  const called = ({ milliseconds, atOnce }: Record<'milliseconds' | 'atOnce', number>): number =>
    (prices.invocation + (milliseconds / 1000) * assumptions.gigabytes * prices.gigabyteSecond) /
    atOnce;
  const parts = {
    [`${logins} million logins, id token`]: logins * sum(dollars(login.cost)) * 1e6,
    [`${refreshes} million refreshes`]: refreshes * sum(dollars(refresh.cost)) * 1e6,
    [`${each} million lines of the audit log`]:
      (each * 1e6 * auditBytes * prices.logGigabyte) / 1e9,
    'The functions that publish and copy': each * 1e6 * (called(publishing) + called(copying)),
    'Fixed costs': fixed,
  };
  const rows = Object.entries({ ...parts, Together: sum(parts) });
  return tableOf(
    ['A million people, a month', '$'],
    1,
    rows.map(([name, value]) => [name, value.toFixed(0)]),
  );
}

/** Prices of CloudFront and AWS WAF in front. */
export function edgeTable(): string {
  const { monthly, millionRequests, gigabyteOut } = edgePrices;
  const { webAcl, rule, secret } = edgeParts;
  const month = webAcl * monthly.webAcl + rule * monthly.rule + secret * monthly.secret;
  return tableOf(['With `edge`', '$'], 1, [
    [`A month: ${webAcl} web ACL, ${rule} rule, ${secret} secret`, month.toFixed(2)],
    ['A million HTTPS requests, CloudFront', millionRequests.cloudFront.toFixed(2)],
    ['A million requests, AWS WAF', millionRequests.waf.toFixed(2)],
    ['A gigabyte of responses, CloudFront', gigabyteOut],
  ]);
}

/** How much of each quota each rate of requests uses; bold above the quota. */
export function limitTable(measured: MeasuredRequests): string {
  const head = ['Limit', 'Raised by', 'Most', ...rates.map((rate) => `${number(rate)}/s`)];
  const rows = quotasFor(measured).map(({ name, raisedBy, most, taken }) => [
    name,
    raisedBy,
    number(most),
    ...rates.map((rate) =>
      taken(rate) > most ? `**${number(taken(rate))}**` : number(taken(rate)),
    ),
  ]);
  return tableOf(head, 2, rows);
}

/** The most requests a second that the same partitions take. */
export function partitionTable(measured: MeasuredRequests): string {
  const rows = partitionEnds(measured).map(({ requests, place, partitions, units, most }) => [
    requests,
    place === 'table' ? 'the table' : `\`${place}\``,
    partitions,
    units,
    number(most),
  ]);
  return tableOf(['Requests', 'In', 'Partitions', 'Write units of one', 'Most a second'], 2, rows);
}
