import * as v from 'valibot';
import type { Resource } from '../upgrade/resources.ts';

/** An action on a resource under a condition, and the forms of the keys that it may be about. */
export interface Right {
  about: string;
  keys: string[];
}

const statementSchema = v.object({
  Action: v.unknown(),
  Resource: v.unknown(),
  Condition: v.optional(v.record(v.string(), v.record(v.string(), v.unknown())), {}),
});
const policySchema = v.object({
  PolicyName: v.string(),
  PolicyDocument: v.object({ Statement: v.array(statementSchema) }),
});

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);
const anyKey = '';

/** The policies in a role itself. */
export const policiesIn = (role: Resource | undefined): unknown[] => listed(role?.Properties.Policies ?? []);

/** The name of a policy in a role or beside one. */
export const nameOf = (policy: unknown): string => v.parse(policySchema, policy).PolicyName;

/** All rights that such a policy gives. */
export const rightsIn = (policy: unknown): Right[] =>
  v.parse(policySchema, policy).PolicyDocument.Statement.flatMap(({ Action, Resource, Condition }) => {
    const { 'ForAllValues:StringLike': onKeys = {}, ...others } = Condition;
    const keys = listed(onKeys['dynamodb:LeadingKeys'] ?? anyKey).map(String);
    return listed(Action).flatMap((action) =>
      listed(Resource).map((on) => ({ about: JSON.stringify([action, on, others]), keys })),
    );
  });
