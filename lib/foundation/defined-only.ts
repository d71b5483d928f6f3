/** Fields of which those that may be undefined may be left out instead. */
export type DefinedOnly<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** The properties of an object that have a value: an undefined one is left out together with its name. */
export function definedOnly<Fields extends object>(fields: Fields): DefinedOnly<Fields>;
export function definedOnly(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
