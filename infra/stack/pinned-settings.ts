import { CfnOutput, CfnParameter, CfnRule, Fn } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { pinName, pinnedValue, pins } from '../settings/pins.ts';
import type { Settings } from '../settings/settings.ts';

/**
 * Makes the stack keep these settings. Each is the default of a parameter, and a rule demands exactly this value. On an
 * update, the CDK sends the value that the parameter has in the deployed stack, so CloudFormation rejects another one
 * before it changes anything. A setting that is changed on purpose has no parameter in that deployment; the next one
 * pins its new value.
 * @see AWS CloudFormation user guide, "CloudFormation template Rules syntax"
 */
export class PinnedSettings extends Construct {
  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    for (const pin of pins) {
      if (settings.change.includes(pin)) continue;
      const value = pinnedValue(settings, pin);
      const name = pinName(pin);
      const parameter = new CfnParameter(this, pin, {
        default: value,
        description: `The setting ${pin} of the deployed stack`,
      });
      parameter.overrideLogicalId(name);
      const rule = new CfnRule(this, `${pin}-rule`, {
        assertions: [
          {
            assert: Fn.conditionEquals(parameter.valueAsString, value),
            assertDescription: `This stack was deployed with another ${pin} than ${value}, so nothing was changed. Is this the right deployment? If it is to be changed, add -c change=${pin}.`,
          },
        ],
      });
      rule.overrideLogicalId(`${name}Rule`);
      // What the parameter holds can be read from the stack.
      new CfnOutput(this, `${pin}-output`, { value: parameter.valueAsString }).overrideLogicalId(
        `${name}Value`,
      );
    }
  }
}
