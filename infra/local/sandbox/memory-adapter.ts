import { epochSeconds } from './validity.ts';

interface StoredRecord {
  grantId?: string;
  consumed?: number;
}

/** What one identity server has stored, under keys such as `AccessToken:EgZgO…`. */
export type Records = Map<string, StoredRecord>;

/**
 * Storage for one of oidc-provider's models. Its own in-memory adapter warns at start and forgets beyond 1000 records.
 *
 * @see https://github.com/panva/node-oidc-provider/blob/main/example/my_adapter.js
 */
export class MemoryAdapter {
  readonly #model: string;
  readonly #records: Records;

  constructor(model: string, records: Records) {
    this.#model = model;
    this.#records = records;
  }

  upsert(id: string, record: StoredRecord): Promise<void> {
    this.#records.set(this.#key(id), record);
    return Promise.resolve();
  }

  find(id: string): Promise<StoredRecord | undefined> {
    return Promise.resolve(this.#records.get(this.#key(id)));
  }

  consume(id: string): Promise<void> {
    const record = this.#records.get(this.#key(id));
    if (record) record.consumed = epochSeconds();
    return Promise.resolve();
  }

  destroy(id: string): Promise<void> {
    this.#records.delete(this.#key(id));
    return Promise.resolve();
  }

  revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, record] of this.#records) {
      if (record.grantId === grantId) this.#records.delete(key);
    }
    return Promise.resolve();
  }

  #key(id: string): string {
    return `${this.#model}:${id}`;
  }
}
