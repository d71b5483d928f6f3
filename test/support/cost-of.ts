import type { StoreProxy } from './store-proxy.ts';

/** What a request costs: each call to the store, the bytes of its answer, and the response itself. */
export async function costOf(proxy: StoreProxy, send: () => Promise<{ status: number; text: string }>) {
  proxy.forget();
  const { status, text } = await send();
  const calls = proxy.calls().map(({ operation, units, bytes }) => ({ operation, units, bytes }));
  return { status, text, calls };
}
