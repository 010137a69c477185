/** The control: ordinary requests, through as many connections as the attackers use. */
import { repeatedly } from '../../test/faults/hostile/attack.ts';

export const ORDINARY = 'ordinary requests';
export const FIRST_PAGE = '/extended/v3/transactions';

let turn = 0;

/** Makes ordinary requests. Each URL is new, so that no response comes from the response cache. */
export const ordinaryRequests = (api: string, count: number): Promise<void> =>
  repeatedly(count, async () => {
    const response = await fetch(`${api}${FIRST_PAGE}?ordinary=${turn++}`);
    await response.arrayBuffer();
    return 1;
  });
