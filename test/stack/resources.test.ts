import { expect, test } from '@jest/globals';
import { everything, templateWith, text, watchingWith } from '../support/template.ts';

/** CloudFormation takes 500. Each endpoint has ten or eleven, so there is room for twenty more. */
test('a deployment with every option has at most 300 resources', () => {
  for (const one of [templateWith(everything), watchingWith(everything)])
    expect(Object.keys(one.toJSON().Resources).length).toBeLessThanOrEqual(300);
});

const longestArn = `arn:aws:lambda:ap-southeast-1:123456789012:function:${'a'.repeat(64)}`;

/** IAM takes 10,240 characters. During an update, a role may have the policies of the version before besides. */
test('the rights of each role fit beside it, also under the longest name of a deployment', () => {
  const roles = templateWith({ ...everything, stack: 'a'.repeat(40) }).findResources('AWS::IAM::Role');
  for (const { Properties } of Object.values(roles)) {
    const rights = JSON.stringify(Properties.Policies ?? [], (_, value: unknown) =>
      typeof value === 'object' && value !== null && ('Fn::GetAtt' in value || 'Fn::Join' in value)
        ? text(value).replace(/^\w+/, longestArn)
        : value,
    );
    expect(rights.length).toBeLessThan(8_400);
  }
});
