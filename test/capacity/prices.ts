/**
 * Dollars in us-east-1 (N. Virginia), on demand, first tier, as published in May 2025. Other regions cost
 * up to half as much again.
 * @see https://aws.amazon.com/api-gateway/pricing/, …/lambda/pricing/, …/dynamodb/pricing/on-demand/, …/cloudwatch/pricing/, …/eventbridge/pricing/
 */
export const prices = {
  /** One request to an HTTP API. */
  apiRequest: 1.0 / 1e6,
  /** One invocation of a function. */
  invocation: 0.2 / 1e6,
  /** One second of 1 GB on arm64. */
  gigabyteSecond: 0.0000133334,
  /** One strongly consistent read of 4 kB takes one unit. */
  readUnit: 0.125 / 1e6,
  /** One write of 1 kB takes one unit. */
  writeUnit: 0.625 / 1e6,
  /** One gigabyte of log lines. */
  logGigabyte: 0.5,
  /** One event that an application publishes on EventBridge. */
  event: 1.0 / 1e6,
} as const;

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
  /** Share of requests that meet a cold start, with its three reads of secrets and its new log stream. */
  coldShare: 0.01,
  /** Requests a second in which Lambda sends a busy instance's lines to CloudWatch Logs; AWS doesn't publish it. */
  logRequestsPerSecond: 1,
} as const;
