import * as v from 'valibot';

/** A query parameter that comes once. */
export const once = <Output>(name: string, schema: v.GenericSchema<string, Output>) =>
  v.pipe(
    v.array(v.string()),
    v.maxLength(1, `The parameter ${name} is repeated.`),
    v.transform(([value = '']) => value),
    schema,
  );

/** A query parameter that comes once and is a whole number, in at most four decimal digits. */
export const integerBetween = (name: string, least: number, most: number) => {
  const message = `The parameter ${name} must be an integer from ${least} to ${most}.`;
  return once(
    name,
    v.pipe(
      v.string(),
      v.regex(/^\d{1,4}$/, message),
      v.transform(Number),
      v.minValue(least, message),
      v.maxValue(most, message),
    ),
  );
};
