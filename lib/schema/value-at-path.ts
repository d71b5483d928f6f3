/** The value at a path such as `data.app_id` of a JSON answer, or undefined. */
export function valueAtPath(answer: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        value instanceof Object && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined,
      answer,
    );
}
