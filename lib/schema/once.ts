import * as v from 'valibot';

/** A query parameter that comes once. */
export const once = <Output>(name: string, schema: v.GenericSchema<string, Output>) =>
  v.pipe(
    v.array(v.string()),
    v.maxLength(1, `The parameter ${name} is repeated.`),
    v.transform(([value = '']) => value),
    schema,
  );
