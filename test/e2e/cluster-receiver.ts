/** The receiver of a cluster's chainhook, which measures how long deliveries take. */
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import type { Filter } from '../../src/hooks/definition/filter-schemas.ts';
import { type Arrival, acceptedInOrder } from '../hooks/arrivals.ts';
import { expectedMatches, followed } from '../hooks/follow.ts';
import { definition, receiver } from '../hooks/server.ts';
import { until } from '../support/time/until.ts';
import { measuredAt } from './cluster-hosts.ts';

/** The hook's filters, which match in most blocks. */
const filters: readonly Filter[] = [{ type: 'stx_event' }, { type: 'coinbase' }, { type: 'tenure_change' }];

/** The settings of hosts that deliver here. */
export const hookFlags = ['--hook-access', 'open', '--hook-targets', '127.0.0.0/8'];

export class ClusterReceiver {
  readonly #receiver = receiver();
  readonly #arrivals: Arrival[] = [];
  /** Time of each block's first delivery, by its hash. */
  readonly #arrivedAt = new Map<string, number>();
  #uuid = '';

  constructor() {
    this.#receiver.answer = ({ headers, payload }) => {
      // A registration whose response was lost may have created a second hook.
      if (headers['x-chainhook-uuid'] !== this.#uuid) return new Response('ok');
      for (const { block_identifier } of payload.event.apply) {
        if (!this.#arrivedAt.has(block_identifier.hash)) this.#arrivedAt.set(block_identifier.hash, measuredAt());
      }
      const sequence = Number(headers['x-chainhook-sequence']);
      this.#arrivals.push({ id: headers['webhook-id'] ?? '', sequence, payload, answered: true });
      return new Response('ok');
    };
  }

  /** Registers its hook. @param api the address of any host */
  async register(api: string): Promise<void> {
    const hook = definition(this.#receiver.url, [...filters], { enable_on_registration: true });
    const body = JSON.stringify(hook);
    // A host that hasn't read the journal yet rejects the registration.
    await until(async () => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${api}/chainhooks/me`, { method: 'POST', headers, body });
      const answer = (await response.json()) as { uuid?: string };
      if (response.status !== 200 && response.status !== 503) throw new Error(JSON.stringify(answer));
      this.#uuid = answer.uuid ?? '';
      return response.ok;
    }, 'a chainhook');
  }

  /** Returns true if a host has recorded that everything is delivered. */
  async isDone(api: string): Promise<boolean> {
    const response = await fetch(`${api}/chainhooks/me/${this.#uuid}`);
    // A host that just started may not have the hook yet.
    if (!response.ok) return false;
    const { status } = (await response.json()) as { status: { pending_deliveries: number; lag_blocks: number } };
    return status.pending_deliveries === 0 && status.lag_blocks === 0;
  }

  /**
   * Checks that each occurrence came at least once and in order.
   * @param entries all events of the log @param acknowledgedAt when a block was first acknowledged to a node, by its hash
   * @returns how many deliveries came, how many of them again, and the longest time that an accepted block waited, in seconds
   */
  holdLaws(entries: readonly NodeEvent[], acknowledgedAt: ReadonlyMap<string, number>) {
    const { accepted, repeated } = acceptedInOrder('the hook', this.#arrivals);
    const standing = [...followed(accepted.map(({ payload }) => payload)).keys()];
    const expected = [...expectedMatches(entries, filters).keys()];
    if (!Bun.deepEquals(standing, expected)) {
      throw new Error(`the receiver is left with ${standing.length} blocks, and ${expected.length} match`);
    }
    const waits = [...this.#arrivedAt].map(([hash, arrivedAt]) => arrivedAt - (acknowledgedAt.get(hash) ?? arrivedAt));
    return { deliveries: accepted.length, repeated, longestWait: Math.max(0, ...waits) / 1000 };
  }

  [Symbol.dispose](): void {
    this.#receiver[Symbol.dispose]();
  }
}
