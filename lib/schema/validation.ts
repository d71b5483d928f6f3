import * as v from 'valibot';
import { type FieldError, invalid, ServiceError } from '../foundation/service-error.ts';

/** Makes the documented error for an invalid input, which is undefined if it was not parsed. */
export type MakeError = (errors: FieldError[], input?: unknown) => ServiceError;

/** `invalid_request`, naming the first parameter that is wrong. */
export const invalidRequest: MakeError = ([first]) =>
  invalid(first?.message ?? 'The request is malformed.');

/** `unprocessable_entity`, naming each field that is wrong. */
export const unprocessableEntity: MakeError = (errors) =>
  new ServiceError('unprocessable_entity', errors.map(({ message }) => message).join(' '), {
    errors: errors.map(({ field, message }) => ({ field: field || 'body', message })),
  });

/** `invalid_request` for a body that is not an object, else `unprocessable_entity`. */
export const invalidFields: MakeError = (errors) =>
  errors.some(({ field }) => field === '') ? invalidRequest(errors) : unprocessableEntity(errors);

/** `unprocessable_entity` for the fields of an object within the body, else `invalid_request`. */
export const invalidFieldsOf =
  (object: string): MakeError =>
  (errors) => {
    const others = errors.filter(({ field }) => !field.startsWith(`${object}.`));
    if (others.length > 0) return invalidRequest(others);
    return unprocessableEntity(
      errors.map(({ field, message }) => ({ field, message: `${object}.${message}` })),
    );
  };

/**
 * The message for a missing key.
 * @param before what stands before its name
 */
export const keyRequired =
  (before = '') =>
  ({ path }: v.BaseIssue<unknown>): string =>
    `${before}${String(path?.[0]?.key)} is required.`;

export const jsonObject = (message: string) =>
  v.custom<object>((value) => value instanceof Object && !Array.isArray(value), message);

/**
 * The output of a schema.
 * @throws ServiceError
 */
export function validated<Schema extends v.GenericSchema>(
  schema: Schema,
  input: unknown,
  makeError: MakeError,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, input, { abortPipeEarly: true });
  if (result.success) return result.output;
  const errors = result.issues.map((issue) => ({
    field: v.getDotPath(issue) ?? '',
    message: issue.message,
  }));
  throw makeError(errors, input);
}
