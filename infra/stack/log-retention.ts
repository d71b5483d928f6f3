import { RetentionDays } from 'aws-cdk-lib/aws-logs';

/** How long every log is kept. */
export const logRetention = RetentionDays.THREE_MONTHS;
