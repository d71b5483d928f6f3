/** Settings of a deployment with CloudFront and AWS WAF in front. */
export const withEdge = {
  account: '123456789012',
  region: 'eu-central-1',
  domainName: 'login.example.com',
  certificateArn: 'arn:aws:acm:eu-central-1:123456789012:certificate/1234-abcd',
  edge: true,
  edgeCertificateArn: 'arn:aws:acm:us-east-1:123456789012:certificate/1234-abcd',
};

/** Settings of a deployment whose data and logs keys of its own encrypt. */
export const withKey = {
  kmsKeyArn: 'arn:aws:kms:eu-central-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef',
  edgeKmsKeyArn: 'arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef',
};

/** Settings of a deployment whose edge has logs. */
export const withEdgeLogs = { ...withEdge, ...withKey, edgeLogs: true, logRetentionDays: 30 };

/** Settings of a deployment with everything that can be switched on. */
export const everything = {
  ...withEdge,
  ...withKey,
  edgeLogs: true,
  edgeAllowedAddresses: '192.0.2.0/24',
  edgeTokenRateLimit: 100,
  edgeManagedRules: 'ip-reputation,known-bad-inputs',
  archiveDays: 30,
  maxWriteUnits: 1000,
  warmReadUnits: 20_000,
  replicaRegions: 'eu-west-1',
  alarmEmail: 'ops@example.com',
  tracing: true,
  loginHook: 'login-hook:live',
  loginHookSeconds: 5,
  tokenConcurrency: 1,
  tokenReservedConcurrency: 10,
};

/** Settings of a deployment whose new versions get all requests at once. */
export const withoutCanary = { canary: false, tableName: 'a-stack-restored', publishEvents: false };

/** Settings of a deployment whose canaries take longer, more of them at once. */
export const otherCanary = { canaryMinutes: '30', canariesAtOnce: 50 };

/** Settings of deployments that differ in what is in their templates. */
export const variants: Record<string, unknown>[] = [
  {},
  { stage: 'development', loopbackProviders: true, accessTokenSeconds: 60 },
  withoutCanary,
  {
    account: '123456789012',
    region: 'eu-central-1',
    tableName: 'a-stack-restored',
    tableStreamArn:
      'arn:aws:dynamodb:eu-central-1:123456789012:table/a-stack-restored/stream/2026-01-31T08:00:00.000',
  },
  everything,
];
