import { isWrite, type StoreCall, type StoreProxy } from './store-proxy.ts';

/** A request, and a rival that acts while the request is under way. */
export type Actors<Result, Rival> = [request: () => Promise<Result>, rival: () => Promise<Rival>];

/** Races between a request and a rival, who acts just before a write of the request. */
export function racesAt(proxy: StoreProxy) {
  /**
   * Lets a rival act, or an answer get lost, at writes of a request, by a plan. The write waits for
   * the rival's answer.
   */
  async function race<Result, Rival>(
    plan: ('lose' | 'act' | undefined)[],
    request: () => Promise<Result>,
    rival: () => Promise<Rival>,
  ): Promise<[Result, Rival]> {
    let act: Promise<Rival> | undefined;
    const steps = plan.values();
    const hook = async (call: StoreCall) => {
      const step = act || !isWrite(call) ? undefined : steps.next().value;
      if (step === 'lose') return 'answer lost';
      if (step === 'act') {
        act = rival();
        await act;
      }
      return undefined;
    };
    const answer = await proxy.during(hook, request);
    if (!act) throw new Error('The request makes fewer writes.');
    return [answer, await act];
  }

  return {
    /** Lets a rival act just before one write, from 0. */
    overtaken: <Result, Rival>(place: number, ...actors: Actors<Result, Rival>) =>
      race([...Array(place), 'act'], ...actors),
    /**
     * Loses the answer to the first write, and lets a rival act before the store's client sends it
     * again.
     */
    lostAndOvertaken: <Result, Rival>(...actors: Actors<Result, Rival>) =>
      race(['lose', 'act'], ...actors),
  };
}
