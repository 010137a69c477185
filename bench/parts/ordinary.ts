/** No attack but as much of it: what the polite client asks for, through as many connections as attackers have. */
import { repeatedly } from '../../test/faults/hostile/attack.ts';

export const ORDINARY = 'ordinary requests';
export const FIRST_PAGE = '/extended/v3/transactions';

let turn = 0;

/** @param api where they go: each URL is a new one, so that no answer comes from the response cache */
export const ordinaryRequests = (api: string, count: number): Promise<void> =>
  repeatedly(count, async () => {
    const response = await fetch(`${api}${FIRST_PAGE}?ordinary=${turn++}`);
    await response.arrayBuffer();
    return 1;
  });
