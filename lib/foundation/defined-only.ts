/** An object's type in which the properties that may be undefined are optional instead. */
export type DefinedOnly<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<
    Fields[Name],
    undefined
  >;
};

/** The properties of an object that are not undefined. */
export function definedOnly<Fields extends object>(fields: Fields): DefinedOnly<Fields>;
export function definedOnly(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
