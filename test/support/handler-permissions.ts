/**
 * What CloudFormation calls to create, read, update and delete a resource of each type: the permissions of its handlers,
 * without those for features that the templates don't use, such as Kinesis streams, VPCs and imports.
 * @see AWS CloudFormation API reference, "DescribeType": `handlers`, in the schema of each type
 */
export const handlerPermissions: Record<string, string> = {
  'Custom::FirstRotation': 'lambda:InvokeFunction',
  'Custom::TableFormat': 'lambda:InvokeFunction',
  'AWS::ApiGatewayV2::Api': 'apigateway:DELETE,GET,PATCH,POST,PUT',
  'AWS::ApiGatewayV2::ApiMapping': 'apigateway:DELETE,GET,PATCH,POST,PUT',
  'AWS::ApiGatewayV2::DomainName': 'apigateway:DELETE,GET,PATCH,POST,PUT',
  'AWS::ApiGatewayV2::Integration': 'apigateway:DELETE,GET,PATCH,POST,PUT iam:PassRole',
  'AWS::ApiGatewayV2::Route': 'apigateway:DELETE,GET,PATCH,POST,PUT',
  'AWS::ApiGatewayV2::Stage': 'apigateway:DELETE,GET,PATCH,POST',
  'AWS::CloudFormation::Stack':
    'cloudformation:CreateStack,DeleteStack,DescribeStacks,GetStackPolicy,GetTemplate,SetStackPolicy,UpdateStack,UpdateTerminationProtection iam:PassRole',
  'AWS::CloudFront::Distribution':
    'cloudfront:CreateDistribution,CreateDistributionWithTags,DeleteDistribution,GetDistribution,GetDistributionConfig,ListTagsForResource,TagResource,UntagResource,UpdateDistribution,UpdateDistributionWithStagingConfig',
  'AWS::CloudFront::OriginRequestPolicy':
    'cloudfront:CreateOriginRequestPolicy,DeleteOriginRequestPolicy,GetOriginRequestPolicy,UpdateOriginRequestPolicy',
  'AWS::CloudWatch::Alarm':
    'cloudwatch:DeleteAlarms,DescribeAlarms,ListTagsForResource,PutMetricAlarm,TagResource,UntagResource',
  'AWS::CloudWatch::Dashboard':
    'cloudwatch:DeleteDashboards,GetDashboard,ListTagsForResource,PutDashboard,TagResource,UntagResource',
  'AWS::CodeDeploy::Application':
    'codedeploy:CreateApplication,DeleteApplication,GetApplication,ListTagsForResource,TagResource,UntagResource',
  'AWS::CodeDeploy::DeploymentGroup':
    'codedeploy:CreateDeployment,CreateDeploymentGroup,DeleteDeploymentGroup,GetApplicationRevision,GetDeployment,GetDeploymentConfig,GetDeploymentGroup,ListDeployments,ListTagsForResource,RegisterApplicationRevision,RegisterOnPremisesInstance,StopDeployment,TagResource,UntagResource,UpdateDeploymentGroup iam:PassRole',
  'AWS::DynamoDB::Table':
    'dynamodb:CreateTable,DeleteResourcePolicy,DeleteTable,DescribeContinuousBackups,DescribeContributorInsights,DescribeTable,DescribeTimeToLive,GetResourcePolicy,ListTagsOfResource,PutResourcePolicy,TagResource,UntagResource,UpdateContinuousBackups,UpdateContributorInsights,UpdateTable,UpdateTimeToLive kms:CreateGrant,Decrypt,DescribeKey,Encrypt s3:GetObject',
  'AWS::Events::Archive':
    'events:CreateArchive,DeleteArchive,DescribeArchive,UpdateArchive kms:Decrypt,DescribeKey,GenerateDataKey',
  'AWS::Events::EventBus':
    'events:CreateEventBus,DeleteEventBus,DescribeEventBus,ListTagsForResource,PutPermission,RemovePermission,TagResource,UntagResource,UpdateEventBus kms:Decrypt,DescribeKey,Encrypt,GenerateDataKey',
  'AWS::Events::Rule':
    'events:DeleteRule,DescribeRule,ListTagsForResource,ListTargetsByRule,PutRule,PutTargets,RemoveTargets,TagResource,UntagResource iam:PassRole',
  'AWS::IAM::Role':
    'iam:AttachRolePolicy,CreateRole,DeleteRole,DeleteRolePermissionsBoundary,DeleteRolePolicy,DetachRolePolicy,GetRole,GetRolePolicy,ListAttachedRolePolicies,ListRolePolicies,PutRolePermissionsBoundary,PutRolePolicy,TagRole,UntagRole,UpdateAssumeRolePolicy,UpdateRole,UpdateRoleDescription',
  'AWS::Lambda::Alias':
    'codedeploy:CreateDeployment,GetDeployment,GetDeploymentConfig,GetDeploymentGroup,StopDeployment lambda:CreateAlias,DeleteAlias,DeleteProvisionedConcurrencyConfig,GetAlias,GetProvisionedConcurrencyConfig,PutProvisionedConcurrencyConfig,UpdateAlias',
  'AWS::Lambda::EventInvokeConfig':
    'lambda:DeleteFunctionEventInvokeConfig,GetFunctionEventInvokeConfig,PutFunctionEventInvokeConfig,UpdateFunctionEventInvokeConfig',
  'AWS::Lambda::EventSourceMapping':
    'kms:Decrypt,DescribeKey,GenerateDataKey lambda:CreateEventSourceMapping,DeleteEventSourceMapping,GetEventSourceMapping,ListTags,TagResource,UntagResource,UpdateEventSourceMapping',
  'AWS::Lambda::Function':
    'iam:PassRole kms:CreateGrant,Decrypt,DescribeKey,Encrypt,GenerateDataKey lambda:CreateFunction,DeleteFunction,DeleteFunctionCodeSigningConfig,DeleteFunctionConcurrency,GetCodeSigningConfig,GetFunction,GetFunctionCodeSigningConfig,GetFunctionRecursionConfig,GetFunctionScalingConfig,GetLayerVersion,GetRuntimeManagementConfig,PassCapacityProvider,PublishVersion,PutFunctionCodeSigningConfig,PutFunctionConcurrency,PutFunctionRecursionConfig,PutFunctionScalingConfig,PutRuntimeManagementConfig,TagResource,UntagResource,UpdateFunctionCode,UpdateFunctionConfiguration s3:GetObject',
  'AWS::Lambda::Permission': 'lambda:AddPermission,GetPolicy,RemovePermission',
  'AWS::Lambda::Version':
    'lambda:DeleteFunction,GetFunctionConfiguration,GetFunctionScalingConfig,GetProvisionedConcurrencyConfig,GetRuntimeManagementConfig,ListVersionsByFunction,PublishVersion,PutFunctionScalingConfig,PutProvisionedConcurrencyConfig,PutRuntimeManagementConfig',
  'AWS::Logs::Delivery':
    'logs:CreateDelivery,DeleteDelivery,DescribeDeliveries,GetDelivery,GetDeliveryDestination,GetDeliverySource,ListTagsForResource,TagResource,UntagResource,UpdateDeliveryConfiguration',
  'AWS::Logs::DeliveryDestination':
    'logs:DeleteDeliveryDestination,DeleteDeliveryDestinationPolicy,GetDeliveryDestination,GetDeliveryDestinationPolicy,ListTagsForResource,PutDeliveryDestination,PutDeliveryDestinationPolicy,TagResource,UntagResource',
  'AWS::Logs::DeliverySource':
    'logs:AllowVendedLogDeliveryForResource,DeleteDeliverySource,GetDeliverySource,ListTagsForResource,PutDeliverySource,TagResource,UntagResource cloudfront:AllowVendedLogDeliveryForResource',
  'AWS::Logs::LogGroup':
    'logs:AssociateKmsKey,CreateLogDelivery,CreateLogGroup,DeleteDataProtectionPolicy,DeleteIndexPolicy,DeleteLogGroup,DeleteResourcePolicy,DeleteRetentionPolicy,DescribeIndexPolicies,DescribeLogGroups,DescribeResourcePolicies,DisassociateKmsKey,GetDataProtectionPolicy,ListTagsForResource,PutBearerTokenAuthentication,PutDataProtectionPolicy,PutIndexPolicy,PutLogGroupDeletionProtection,PutResourcePolicy,PutRetentionPolicy,TagResource,UntagResource',
  'AWS::Logs::MetricFilter': 'logs:DeleteMetricFilter,DescribeMetricFilters,PutMetricFilter',
  'AWS::Logs::SubscriptionFilter':
    'iam:PassRole logs:DeleteSubscriptionFilter,DescribeSubscriptionFilters,PutSubscriptionFilter',
  'AWS::SNS::Subscription':
    'iam:PassRole sns:GetSubscriptionAttributes,SetSubscriptionAttributes,Subscribe,Unsubscribe',
  'AWS::SNS::Topic':
    'iam:PassRole sns:CreateTopic,DeleteTopic,GetDataProtectionPolicy,GetTopicAttributes,ListSubscriptionsByTopic,ListTagsForResource,PutDataProtectionPolicy,SetTopicAttributes,Subscribe,TagResource,Unsubscribe,UntagResource',
  'AWS::SNS::TopicPolicy': 'sns:SetTopicAttributes',
  'AWS::SQS::Queue':
    'sqs:CreateQueue,DeleteQueue,GetQueueAttributes,GetQueueUrl,ListQueueTags,SetQueueAttributes,TagQueue,UntagQueue',
  'AWS::SQS::QueuePolicy': 'sqs:SetQueueAttributes',
  'AWS::SecretsManager::RotationSchedule':
    'iam:PassRole lambda:InvokeFunction secretsmanager:CancelRotateSecret,DescribeSecret,RotateSecret',
  'AWS::SecretsManager::Secret':
    'secretsmanager:CreateSecret,DeleteSecret,DescribeSecret,GetRandomPassword,GetSecretValue,RemoveRegionsFromReplication,ReplicateSecretToRegions,TagResource,UntagResource,UpdateSecret',
  'AWS::WAFv2::LoggingConfiguration':
    'iam:CreateServiceLinkedRole logs:CreateLogDelivery,DeleteLogDelivery,DescribeLogGroups,DescribeResourcePolicies,PutResourcePolicy wafv2:DeleteLoggingConfiguration,GetLoggingConfiguration,PutLoggingConfiguration',
  'AWS::WAFv2::IPSet':
    'wafv2:CreateIPSet,DeleteIPSet,GetIPSet,ListTagsForResource,TagResource,UntagResource,UpdateIPSet',
  'AWS::WAFv2::WebACL':
    'wafv2:CreateWebACL,DeleteWebACL,GetWebACL,ListTagsForResource,TagResource,UntagResource,UpdateWebACL',
};
