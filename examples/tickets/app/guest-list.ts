/** Keeps the list of guests by the deliveries of a chainhook, and follows the chain through forks. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Cl, cvToJSON } from '@stacks/transactions';
import type { Show } from './tickets.ts';

/** Seconds after which a delivery may be one that somebody recorded. */
const TOLERANCE = 300;

interface Operation {
  type: string;
  metadata?: { contract_identifier?: string; value?: { hex: string } };
}

interface Block {
  transactions: { operations: Operation[] }[];
}

/** The chainhook that the list needs. */
export const definitionOf = ({ contract }: Show) =>
  ({
    name: 'guest list',
    filters: { events: [{ type: 'contract_log', contract_identifier: contract, contains: '"sold"' }] },
    options: { decode_clarity_values: true, enable_on_registration: true },
  }) as const;

export class GuestList {
  /** Buyers by the number of their ticket. */
  readonly guests = new Map<number, string>();
  /** Ids of deliveries that were handled: one may arrive twice. */
  readonly #handled = new Set<string>();
  readonly #key: Uint8Array;
  readonly #contract: string;

  /**
   * @param contract that sells the tickets
   * @param secret that signs the deliveries: `whsec_` and base64
   */
  constructor(contract: string, secret: string) {
    this.#contract = contract;
    this.#key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  }

  /** Answers to a delivery: 2xx takes it, and anything else lets it come again. */
  async handle(request: Request): Promise<Response> {
    const body = await request.text();
    if (!this.#isSigned(request.headers, body)) return new Response(null, { status: 401 });
    const id = request.headers.get('webhook-id') ?? '';
    // A test delivery has a block of the past, which may be in the list already.
    const isTest = request.headers.get('x-chainhook-reason') === 'test';
    if (!isTest && !this.#handled.has(id)) {
      const { event } = JSON.parse(body) as { event: { apply: Block[]; rollback: Block[] } };
      // First what a fork took back. A backfill may send a sale again, which then changes nothing.
      for (const [ticket] of event.rollback.flatMap((block) => this.#salesIn(block))) this.guests.delete(ticket);
      for (const [ticket, buyer] of event.apply.flatMap((block) => this.#salesIn(block)))
        this.guests.set(ticket, buyer);
      this.#handled.add(id);
    }
    return new Response(null, { status: 204 });
  }

  /** Whether the secret signed a delivery a short time ago (Standard Webhooks). */
  #isSigned(headers: Headers, body: string): boolean {
    const [id, time] = [headers.get('webhook-id'), headers.get('webhook-timestamp')];
    if (!(Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE)) return false;
    const signed = createHmac('sha256', this.#key).update(`${id}.${time}.${body}`).digest('base64');
    const expected = Buffer.from(`v1,${signed}`);
    // For a day after the secret was replaced, there are two signatures.
    return (headers.get('webhook-signature') ?? '')
      .split(' ')
      .map((one) => Buffer.from(one))
      .some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  }

  /** What was sold in a block: the number of each ticket, and its buyer. A transaction may have logs of other contracts. */
  #salesIn({ transactions }: Block): [ticket: number, buyer: string][] {
    return transactions
      .flatMap(({ operations }) => operations)
      .filter(({ type, metadata }) => type === 'contract_log' && metadata?.contract_identifier === this.#contract)
      .flatMap(({ metadata }) => (metadata?.value ? [metadata.value.hex] : []))
      .map((hex) => {
        const { ticket, buyer } = cvToJSON(Cl.deserialize(hex)).value;
        return [Number(ticket.value), String(buyer.value)];
      });
  }
}
