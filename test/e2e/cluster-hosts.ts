/** Hosts of a cluster as processes that can be killed, and nodes that post their events to any host that accepts them. */
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { moment } from '../support/time/moment.ts';
import { type Server, startServer } from './stackside.ts';

export class ClusterHost {
  readonly #flags: readonly string[];
  #server: Server | null = null;

  /** @param directory the host's data @param flags the settings of the shared log */
  constructor(
    readonly name: string,
    readonly directory: string,
    flags: readonly string[],
  ) {
    this.#flags = ['--data', directory, '--host-name', name, '--node-rpc', 'http://127.0.0.1:1', ...flags];
  }

  /** The address for nodes, or null while the host is down. */
  get events(): string | null {
    return this.#server?.events ?? null;
  }

  /** The address for clients, or null while the host is down. */
  get api(): string | null {
    return this.#server?.api ?? null;
  }

  async start(): Promise<void> {
    this.#server = await startServer('serve', ...this.#flags);
  }

  async kill(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    await server?.stop('SIGKILL');
  }

  /** Stops the host normally. @returns its exit code */
  async stop(): Promise<number> {
    const server = this.#server;
    this.#server = null;
    return (await server?.stop()) ?? 0;
  }
}

/** Posts an event. @returns true if the server acknowledged the event */
async function post({ path, body }: NodeEvent, events: string): Promise<boolean> {
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  // If the host is killed, the connection fails.
  const response = await fetch(new URL(path, events), request).catch(() => null);
  await response?.body?.cancel();
  return response?.status === 200;
}

/** The measured time in milliseconds. It is only reported. */
export const measuredAt = (): number => performance.now();

/** The events that a node has posted. */
export interface Posting {
  acknowledged: NodeEvent[];
  /** The longest delay until an event was accepted, in seconds. */
  longestWait: number;
  /** Time of each event's first acknowledgement, by {@link measuredAt}, by the event's body. */
  acknowledgedAt: Map<string, number>;
}

/**
 * Posts events as a node behind a load balancer does: in order, each repeated until a host accepts it.
 * @param first the host to start with; after a failure, the next host is tried
 */
export async function postTo(
  hosts: readonly ClusterHost[],
  first: number,
  events: Iterable<NodeEvent>,
  posting: Posting,
): Promise<void> {
  let turn = first;
  for (const event of events) {
    const start = measuredAt();
    for (let isAcknowledged = false; !isAcknowledged; ) {
      const address = hosts[turn % hosts.length]!.events;
      isAcknowledged = address !== null && (await post(event, address));
      if (isAcknowledged) break;
      turn += 1;
      await moment(20);
    }
    posting.acknowledged.push(event);
    if (!posting.acknowledgedAt.has(event.body)) posting.acknowledgedAt.set(event.body, measuredAt());
    posting.longestWait = Math.max(posting.longestWait, (measuredAt() - start) / 1000);
  }
}
