import { type Cost, dollars } from './measure.ts';
import { assumptions, edgeParts, edgePrices, prices } from './prices.ts';
import { partitionEnds, quotasFor, rates, secretReads } from './quotas.ts';
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

/** Seconds of a month of 30 days. */
const monthSeconds = 30 * 86_400;

/** Dollars for the time of a function, and for its invocations. */
const called = (milliseconds: number, gigabytes: number = assumptions.gigabytes): number =>
  prices.invocation + (milliseconds / 1000) * gigabytes * prices.gigabyteSecond;

/**
 * What a million people cost in a month of 30 days: a login each, and four refreshes a day. A
 * public client gets a nonce before a login. Between two refreshes, the nonce for its proof expires,
 * so that each refresh takes two requests.
 */
export function monthTable(measured: MeasuredRequests): string {
  const [logins, refreshes] = [1, 4 * 30];
  const { login, refresh, nonceOfPhone, loginOfPhone, outdatedProof, refreshOfPhone } = measured;
  const clients = [
    { ofLogin: [login], ofRefresh: [refresh] },
    { ofLogin: [nonceOfPhone, loginOfPhone], ofRefresh: [outdatedProof, refreshOfPhone] },
  ];
  const { auditBytes, publishing, copying, fixed, coldShare, startMilliseconds } = assumptions;
  const together = (
    { ofLogin, ofRefresh }: (typeof clients)[number],
    count: (cost: Cost) => number,
  ): number => {
    const all = (requests: typeof ofLogin) =>
      requests.reduce((total, { cost }) => total + count(cost), 0);
    return (logins * all(ofLogin) + refreshes * all(ofRefresh)) * 1e6;
  };
  const audited = (logins + refreshes) * 1e6;
  const copy = called(copying.milliseconds) / copying.atOnce;
  const publish = called(publishing.milliseconds) / publishing.atOnce;
  const columns = clients.map((one) => {
    const requests = together(one, () => 1);
    const coldStarts = requests * coldShare;
    const start = (startMilliseconds / 1000) * assumptions.gigabytes * prices.gigabyteSecond;
    const reads = coldStarts * 3 + secretReads(requests / monthSeconds) * monthSeconds;
    const priceOf = (requests: typeof one.ofLogin): number =>
      requests.reduce((total, { cost }) => total + sum(dollars(cost)), 0) * 1e6;
    const bytesOut = together(one, (cost) => cost.bytesOut);
    return {
      [`${logins} million logins, id token`]: logins * priceOf(one.ofLogin),
      [`${refreshes} million refreshes`]: refreshes * priceOf(one.ofRefresh),
      [`${logins + refreshes} million lines of the audit log`]:
        (audited * auditBytes * prices.logGigabyte) / 1e9,
      'The functions that publish logins and copy lines': logins * 1e6 * publish + audited * copy,
      'Cold starts': coldStarts * start,
      'Secrets Manager, reads of three secrets': reads * prices.secretRead,
      'Data out': (bytesOut / 1e9) * prices.gigabyteOut,
      'Fixed costs': fixed,
    };
  });
  const totals = columns.map(sum);
  const names = Object.keys(columns[0] ?? {});
  return tableOf(['A million people, a month', 'Confidential clients, $', 'Public clients, $'], 1, [
    ...names.map((name) => [name, ...columns.map((parts) => (parts[name] ?? 0).toFixed(0))]),
    ['Together', ...totals.map((total) => total.toFixed(0))],
  ]);
}

/** The price of a million calls of a small login hook. */
export function hookTable(): string {
  const { gigabytes, milliseconds, connecting, logBytes } = assumptions.hook;
  const waited = ((milliseconds + connecting) / 1000) * assumptions.gigabytes;
  const parts = {
    [`Your function: ${gigabytes * 1024} MB for ${milliseconds} ms`]: called(
      milliseconds,
      gigabytes,
    ),
    [`The service's function, which waits for ${milliseconds + connecting} ms`]:
      waited * prices.gigabyteSecond,
    [`${logBytes} bytes of log, by both`]: (logBytes / 1e9) * prices.logGigabyte,
  };
  return tableOf(
    ['A million calls of a login hook', '$'],
    1,
    Object.entries({ ...parts, Together: sum(parts) }).map(([name, value]) => [
      name,
      (value * 1e6).toFixed(2),
    ]),
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
