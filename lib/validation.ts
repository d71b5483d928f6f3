import * as v from 'valibot';
import { type FieldError, Refusal } from './refusal.ts';

/** Turns what is wrong with an input into the refusal that is documented for it. */
export type Refuse = (errors: FieldError[]) => Refusal;

/** `invalid_request`, naming the first parameter that is wrong. */
export const refuseAsInvalidRequest: Refuse = ([first]) =>
  new Refusal('invalid_request', first?.message ?? 'The request is malformed.');

/** `unprocessable_entity`, naming each field that is wrong. */
export const refuseAsUnprocessable: Refuse = (errors) =>
  new Refusal('unprocessable_entity', errors.map(({ message }) => message).join(' '), {
    errors: errors.map(({ field, message }) => ({ field: field || 'body', message })),
  });

/** `invalid_request` when the outer shape of the body is wrong, `unprocessable_entity` when fields inside it are. */
export const refuseShapeThenFields: Refuse = (errors) => {
  const shapeErrors = errors.filter(({ field }) => !field.includes('.'));
  return shapeErrors.length > 0 ? refuseAsInvalidRequest(shapeErrors) : refuseAsUnprocessable(errors);
};

/** The name of the key that an object lacks, for the message of its schema. */
export const missingKey = ({ path }: v.BaseIssue<unknown>): string => String(path?.[0]?.key);

/**
 * `invalid_request` when the request around the body is wrong, or the body is no object at all;
 * `unprocessable_entity` when fields of the object under `body` are, which are named without it.
 */
export const refuseRequestThenFields: Refuse = (errors) => {
  const requestErrors = errors.filter(({ field }) => !field.startsWith('body.'));
  if (requestErrors.length > 0) return refuseAsInvalidRequest(requestErrors);
  return refuseAsUnprocessable(
    errors.map(({ field, message }) => ({ field: field.slice('body.'.length), message })),
  );
};

/** What the schema makes of an input. @throws Refusal */
export function validated<Schema extends v.GenericSchema>(
  schema: Schema,
  input: unknown,
  refuse: Refuse,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, input, { abortPipeEarly: true });
  if (result.success) return result.output;
  throw refuse(result.issues.map((issue) => ({ field: v.getDotPath(issue) ?? '', message: issue.message })));
}
