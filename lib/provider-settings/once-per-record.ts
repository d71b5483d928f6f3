/** Remembers what was made of a record, as long as the record itself is kept. A failure is not remembered. */
export function oncePerRecord<Stored extends { settings: object }, Value>(
  make: (stored: Stored) => Promise<Value>,
): (stored: Stored) => Promise<Value> {
  const made = new WeakMap<object, Promise<Value>>();
  return (stored) => {
    const known = made.get(stored.settings);
    if (known) return known;
    const making = make(stored);
    made.set(stored.settings, making);
    making.catch(() => made.delete(stored.settings));
    return making;
  };
}
