/**
 * Dollars in us-east-1, on demand, first tier, without free tiers, as published in May 2025. Those
 * of API Gateway, Lambda, CloudWatch and data out were the same in guides of 2026, read in November
 * 2026. Other regions cost up to half as much again.
 * @see https://aws.amazon.com/api-gateway/pricing/, …/lambda/pricing/,
 *   …/dynamodb/pricing/on-demand/, …/cloudwatch/pricing/, …/eventbridge/pricing/,
 *   …/secrets-manager/pricing/, …/ec2/pricing/on-demand/ (data transfer)
 */
export const prices = {
  apiRequest: 1.0 / 1e6,
  invocation: 0.2 / 1e6,
  /** One second of 1 GB on arm64. */
  gigabyteSecond: 0.0000133334,
  /** One strongly consistent read of 4 kB takes one unit. */
  readUnit: 0.125 / 1e6,
  /** One write of 1 kB takes one unit. */
  writeUnit: 0.625 / 1e6,
  logGigabyte: 0.5,
  /** One event that an application publishes on EventBridge. */
  event: 1.0 / 1e6,
  secretRead: 0.05 / 1e4,
  gigabyteOut: 0.09,
} as const;

/**
 * Dollars for CloudFront and AWS WAF, for callers in North America, after the free tier (ten
 * million requests and a terabyte a month). Read in November 2026: transfer and free tier on a copy
 * of AWS's page, the other prices as others quote them.
 * @see https://aws.amazon.com/cloudfront/pricing/, https://aws.amazon.com/waf/pricing/,
 *   https://aws.amazon.com/secrets-manager/pricing/
 */
export const edgePrices = {
  monthly: { webAcl: 5, rule: 1, secret: 0.4 },
  millionRequests: { cloudFront: 1.0, waf: 0.6 },
  gigabyteOut: 0.085,
} as const;

/** Numbers of the parts of an edge that are billed by the month. */
export const edgeParts = { webAcl: 1, rule: 1, secret: 1 } as const;

/** Assumptions, which only a deployment could measure; its dashboard shows the real values. */
export const assumptions = {
  /** Memory of each function. */
  gigabytes: 1,
  /** Billed milliseconds of a warm request that calls no provider. */
  milliseconds: 30,
  /** Milliseconds that a login waits for its provider, where one is called. */
  providerMilliseconds: 250,
  /** Bytes of one line of the access log. */
  accessLogBytes: 350,
  /** Bytes of a line of the audit log, which each login and refresh writes. */
  auditBytes: 800,
  /**
   * Billed milliseconds of the functions that publish changes and copy audit lines, and how many
   * each gets at once.
   */
  publishing: { milliseconds: 10, atOnce: 10 },
  copying: { milliseconds: 30, atOnce: 10 },
  /** Bytes of the head of a response: its status and its headers. */
  headBytes: 500,
  /**
   * Billed milliseconds of the start of an instance.
   * @see https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/
   */
  startMilliseconds: 400,
  /**
   * A small login hook: its memory and its billed milliseconds, the milliseconds of a connection to
   * it, and the bytes that are logged about a call, most of them by Lambda.
   */
  hook: { gigabytes: 0.125, milliseconds: 20, connecting: 10, logBytes: 900 },
  /** Dollars a month without any request. */
  fixed: 30,
  /**
   * Share of requests that meet a cold start, with its three reads of secrets and its new log
   * stream.
   */
  coldShare: 0.01,
  /**
   * Requests a second in which Lambda sends a busy instance's lines to CloudWatch Logs; AWS doesn't
   * publish it.
   */
  logRequestsPerSecond: 1,
} as const;
