import { Stack } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

interface AlarmTopicProps {
  secrets: Secret[];
  /** The e-mail addresses that alarms go to. */
  email?: string | undefined;
  /** The deployment's own key. Its policy must let CloudWatch and EventBridge use it. */
  key: IKey | undefined;
}

/** The topic that alarms notify. It stays where it is: operators have subscribed to it. */
export class AlarmTopic extends Construct {
  readonly topic: Topic;

  constructor(scope: Construct, id: string, { secrets, email, key }: AlarmTopicProps) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', { enforceSSL: true, ...(key && { masterKey: key }) });
    // This policy replaces the topic's default one, which would let alarms publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        actions: ['sns:Publish'],
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    this.#tellOfFailedRotations(secrets);
    if (email) this.topic.addSubscription(new EmailSubscription(email));
  }

  /**
   * Secrets Manager reports a rotation that has failed as a whole, also when the function was never invoked. EventBridge
   * gets the event from CloudTrail, if the account has a trail.
   * @see AWS Secrets Manager user guide, "Match AWS Secrets Manager events with Amazon EventBridge"
   */
  #tellOfFailedRotations(secrets: Secret[]): void {
    const rule = new Rule(this, 'FailedRotations', {
      description: 'RotationFailure: see docs/watching.md',
      eventPattern: {
        source: ['aws.secretsmanager'],
        detailType: ['AWS Service Event via CloudTrail'],
        detail: {
          eventName: ['RotationFailed'],
          additionalEventData: { SecretId: secrets.map(({ secretArn }) => secretArn) },
        },
      },
    });
    rule.addTarget(new SnsTopic(this.topic));
  }
}
