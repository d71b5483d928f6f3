import { definedOnly } from '../foundation/defined-only.ts';
import type { Placement } from './table.ts';

/** Attributes of an item for the store, which leaves out undefined ones. */
export type Stored<Attributes> = Attributes & Placement;

/** A change of one item. */
export interface Change<Attributes = Record<string, unknown>> {
  /** Undefined attributes are removed. */
  set?: Partial<Stored<Attributes>>;
  /** Set if the item has no such attribute. */
  setIfAbsent?: Partial<Stored<Attributes>>;
  /** Set to the earlier value of another attribute, by its name; null if it had none. */
  copy?: Record<string, string>;
  /** Numbers to raise, from 0 if the item has none. */
  count?: Record<string, { by: number }>;
  remove?: string[];
  when?: Conditions;
}

export type Conditions = Record<string, Condition>;

/**
 * A condition on an attribute. An absent one meets `isNot`, `isNotFrom` and `isNotUpTo`, which hold
 * where there is no item.
 */
export type Condition =
  /** Equal to the value; absent for undefined. */
  | { is: string | number | undefined }
  | { isNot: string }
  /** Less than the value. */
  | { isNotFrom: string | number }
  /** Greater than the value. */
  | { isNotUpTo: string | number }
  | { startsWith: string }
  /** For `pk`, whether there is an item. */
  | { exists: boolean };

/**
 * Bytes that an expression may have.
 * @see Amazon DynamoDB developer guide, "Constraints"
 */
const longest = 4096;

/** Builds DynamoDB expressions, with a placeholder for each name and value. */
export class Expressions {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, unknown> = {};

  /** An update that sets something. */
  update({ set = {}, setIfAbsent = {}, copy = {}, count = {}, remove = [] }: Change): string {
    const removed = Object.entries(set).flatMap(([name, value]) =>
      value === undefined ? [name] : [],
    );
    const assignments = [
      ...this.assign(definedOnly(set), (_, value) => this.value(value)),
      ...this.assign(setIfAbsent, (name, value) => this.orElse(name, value)),
      ...this.assign(copy, (_, from) => this.orElse(from, null)),
      ...this.assign(count, (name, { by }) => `${this.orElse(name, 0)} + ${this.value(by)}`),
    ];
    const removals = [...remove, ...removed].map((name) => this.name(name));
    const removal = removals.length > 0 ? ` REMOVE ${removals.join(', ')}` : '';
    const expression = `SET ${assignments.join(', ')}${removal}`;
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
    if ('is' in condition && condition.is !== undefined)
      return `${name} = ${this.value(condition.is)}`;
    if ('isNot' in condition) return `${name} <> ${this.value(condition.isNot)}`;
    if ('isNotFrom' in condition) return `NOT ${name} >= ${this.value(condition.isNotFrom)}`;
    if ('isNotUpTo' in condition) return `NOT ${name} <= ${this.value(condition.isNotUpTo)}`;
    if ('startsWith' in condition)
      return `begins_with(${name}, ${this.value(condition.startsWith)})`;
    const exists = 'exists' in condition && condition.exists;
    return `${exists ? 'attribute_exists' : 'attribute_not_exists'}(${name})`;
  }

  private assign<Value>(
    values: Record<string, Value>,
    toOperand: (name: string, value: Value) => string,
  ) {
    return Object.entries(values).map(
      ([name, value]) => `${this.name(name)} = ${toOperand(name, value)}`,
    );
  }

  private orElse(attribute: string, value: unknown): string {
    return `if_not_exists(${this.name(attribute)}, ${this.value(value)})`;
  }

  /** Numbered, since a placeholder can't have all characters of a name. */
  private name(attribute: string): string {
    const known = Object.keys(this.names).find(
      (placeholder) => this.names[placeholder] === attribute,
    );
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
