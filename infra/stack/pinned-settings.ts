import { CfnOutput, CfnParameter, CfnRule, Fn } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { pinName, pinnedValue, pins } from '../settings/pins.ts';
import type { Settings } from '../settings/settings.ts';

/**
 * Makes a stack keep these settings. Each is the default of a parameter, and a rule demands this
 * value. On an update, the CDK sends the value of the deployed stack, so CloudFormation rejects
 * another one before it changes anything. A setting that is changed on purpose has no parameter in
 * that deployment; the next one pins the new value.
 * @see AWS CloudFormation user guide, "CloudFormation template Rules syntax"
 */
export function pinSettings(service: Construct, settings: Settings): void {
  const scope = new Construct(service, 'Pinned');
  for (const pin of pins.filter((pin) => !settings.change.includes(pin))) {
    const value = pinnedValue(settings, pin);
    const name = pinName(pin);
    const description = `The setting ${pin} of the deployed stack`;
    const parameter = new CfnParameter(scope, pin, { default: value, description });
    parameter.overrideLogicalId(name);
    const assert = Fn.conditionEquals(parameter.valueAsString, value);
    const assertDescription = `This stack was deployed with another ${pin} than ${value}, so nothing was changed. Is this the right deployment? If it is to be changed, add -c change=${pin}.`;
    const rule = new CfnRule(scope, `${pin}-rule`, { assertions: [{ assert, assertDescription }] });
    rule.overrideLogicalId(`${name}Rule`);
    const output = new CfnOutput(scope, `${pin}-output`, { value: parameter.valueAsString });
    output.overrideLogicalId(`${name}Value`);
  }
}
