/** Types of resources that MiniStack cannot create. */
export const unsupported = new Set([
  'AWS::SecretsManager::RotationSchedule',
  // Waits for that schedule.
  'Custom::FirstRotation',
  'AWS::SecretsManager::ResourcePolicy',
  // The alarms, and the dashboard.
  'AWS::CloudFormation::Stack',
]);

/** Environment variables that functions need on MiniStack, whose domain is the front. */
export const overrides = (frontUrl: string | undefined) => ({
  ISSUER: frontUrl,
  // MiniStack shares this machine's cores with everything else, so its answers take longer than
  // those of AWS.
  AWS_CALL_MILLISECONDS: '10000',
});
