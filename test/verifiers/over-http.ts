/** Verdicts of a server about requests with each token: `accepted`, or the status and the challenge. */
export async function verdictsOver(method: string, url: string, tokens: string[]): Promise<string[]> {
  const verdicts: string[] = [];
  for (const token of tokens) {
    const { ok, status, headers } = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    verdicts.push(ok ? 'accepted' : `rejected: ${status} ${headers.get('www-authenticate')}`);
  }
  return verdicts;
}
