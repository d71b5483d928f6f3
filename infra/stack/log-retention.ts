import { RetentionDays } from 'aws-cdk-lib/aws-logs';

/** The retention of every log. */
export const logRetention = RetentionDays.THREE_MONTHS;
