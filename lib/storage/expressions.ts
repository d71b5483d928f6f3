import { definedOnly } from '../foundation/defined-only.ts';
import type { Placement } from './table.ts';

/** Attributes of an item as the store takes them. One that is undefined is not stored. */
export type Stored<Attributes> = Attributes & Placement;

/** Change of one item, as attribute names and values. */
export interface Change<Attributes> {
  /** An attribute that is undefined here is removed. */
  set?: Partial<Stored<Attributes>>;
  /** Set only where the item has no such attribute yet. */
  setIfAbsent?: Partial<Stored<Attributes>>;
  /** Set to what another attribute was before the change, by its name; to null where the item had none. */
  copy?: Record<string, string>;
  /** Numbers to raise; where the item has no such attribute yet, from 0 on. */
  count?: Record<string, { by: number }>;
  remove?: string[];
  /** All must hold, or nothing is written. */
  when?: Conditions;
}

export type Conditions = Record<string, Condition>;

/**
 * A condition on an attribute. `exists: false` on `pk` means: there is no such item yet. An attribute that is
 * absent meets `isNot`, `isNotFrom` and `isNotUpTo`, so they hold where there is no item.
 */
export type Condition =
  /** Equal to the value; or, for undefined, absent as well. */
  | { is: string | number | undefined }
  | { isNot: string }
  /** Not equal to the value, and not after it in order. */
  | { isNotFrom: string | number }
  /** Not equal to the value, and not before it in order. */
  | { isNotUpTo: number }
  | { exists: boolean };

/** Bytes that an expression may have. @see Amazon DynamoDB developer guide, "Constraints" */
const longest = 4096;

/** Change of one item whose types have been checked. */
interface Assignments extends Pick<Change<unknown>, 'copy' | 'count' | 'remove'> {
  set?: object;
  setIfAbsent?: object;
}

/** Builds DynamoDB expressions. Every name and every value is a placeholder, so nothing needs to be quoted. */
export class Expressions {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, unknown> = {};

  update({ set = {}, setIfAbsent = {}, copy = {}, count = {}, remove = [] }: Assignments): string {
    const removed = Object.entries(set).flatMap(([name, value]) => (value === undefined ? [name] : []));
    const assignments = [
      ...Object.entries(definedOnly(set)).map(([name, value]) => `${this.name(name)} = ${this.value(value)}`),
      ...Object.entries(setIfAbsent).map(
        ([name, value]) => `${this.name(name)} = if_not_exists(${this.name(name)}, ${this.value(value)})`,
      ),
      ...Object.entries(copy).map(
        ([name, from]) => `${this.name(name)} = if_not_exists(${this.name(from)}, ${this.value(null)})`,
      ),
      ...Object.entries(count).map(
        ([name, { by }]) =>
          `${this.name(name)} = if_not_exists(${this.name(name)}, ${this.value(0)}) + ${this.value(by)}`,
      ),
    ];
    const removals = [...remove, ...removed].map((name) => this.name(name));
    const expression = [
      ...(assignments.length > 0 ? [`SET ${assignments.join(', ')}`] : []),
      ...(removals.length > 0 ? [`REMOVE ${removals.join(', ')}`] : []),
    ].join(' ');
    if (expression.length > longest)
      throw new Error(`An update of ${expression.length} bytes is too long for DynamoDB.`);
    return expression;
  }

  condition(when: Conditions): string {
    return Object.entries(when)
      .map(([name, condition]) => this.comparison(this.name(name), condition))
      .join(' AND ');
  }

  private comparison(name: string, condition: Condition): string {
    if ('is' in condition && condition.is !== undefined) return `${name} = ${this.value(condition.is)}`;
    if ('isNot' in condition) return `${name} <> ${this.value(condition.isNot)}`;
    if ('isNotFrom' in condition) return `NOT ${name} >= ${this.value(condition.isNotFrom)}`;
    if ('isNotUpTo' in condition) return `NOT ${name} <= ${this.value(condition.isNotUpTo)}`;
    const exists = 'exists' in condition && condition.exists;
    return `${exists ? 'attribute_exists' : 'attribute_not_exists'}(${name})`;
  }

  /** A number, since an attribute's name may have characters that a placeholder must not have. */
  private name(attribute: string): string {
    const known = Object.keys(this.names).find((placeholder) => this.names[placeholder] === attribute);
    const placeholder = known ?? `#n${Object.keys(this.names).length}`;
    this.names[placeholder] = attribute;
    return placeholder;
  }

  private value(value: unknown): string {
    const placeholder = `:v${Object.keys(this.values).length}`;
    this.values[placeholder] = value;
    return placeholder;
  }
}
