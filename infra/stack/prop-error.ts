import { inspect } from 'node:util';
import { Token } from 'aws-cdk-lib';
import { Construct } from 'constructs';

/** Says which service of an app is wrong, which prop, and what is accepted, in one line. */
export class PropError extends Error {
  /** Absent when it is about the stack of the service. */
  readonly prop: string | undefined;

  /** @param problem the end of the line: `must be true or false` */
  constructor(service: Construct, prop: string | undefined, problem: string) {
    const subject = prop === undefined ? '' : `the prop ${prop} `;
    super(`LoginService ${service.node.path}: ${subject}${problem}.`);
    this.prop = prop;
  }
}

const mostCharacters = 100;

/** A prop's value for the reader of an error, on one line. */
export function shown(value: unknown): string {
  if (Token.isUnresolved(value)) return 'a value that only CloudFormation knows';
  if (Construct.isConstruct(value)) return `the construct ${value.node.path}`;
  const text = inspect(value, { depth: 0, breakLength: Infinity });
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
}
