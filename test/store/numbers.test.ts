/** Numbers that no row can store are refused by the name of their field, and nothing is written. */
import { expect, test } from 'bun:test';
import { PayloadError, parseJson } from '../../src/chain/payload-reader.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { entryOf, type OpenIngest, openNew } from '../support/data/ingest.ts';
import { everything, journalRows } from '../support/data/tables.ts';
import {
  alice,
  block,
  bob,
  hashOf,
  inMicroblock,
  nodeEvent,
  receipt,
  START,
  sponsor,
  transfer,
} from '../support/events/handmade.ts';
import { jsonOf } from '../support/events/payload-text.ts';

type Path = (string | number)[];

/** Yields the path of each number in a value. */
function* numbersIn(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value === 'number' || typeof value === 'bigint') yield path;
  else if (Array.isArray(value)) for (const [index, part] of value.entries()) yield* numbersIn(part, [...path, index]);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) yield* numbersIn(part, [...path, key]);
  }
}

/** The text with another number at a path. */
function replaceNumber(text: string, path: Path, number: number | bigint): string {
  const value = parseJson(text) as Record<string | number, unknown>;
  const last = path.at(-1)!;
  const holder = path.slice(0, -1).reduce((parent, key) => parent[key] as typeof value, value);
  holder[last] = number;
  return jsonOf(value);
}

const unstorable = [1e300, 2n ** 128n, -1, 0.5];

/** Returns the outcome of an event after one of its numbers is replaced. */
function outcome({ ingest }: OpenIngest, event: ReceivedEvent, path: Path, number: number | bigint): string {
  try {
    ingest.apply({ ...event, text: replaceNumber(event.text, path, number) });
    return 'accepted';
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error;
    return error.message.includes(`Field ${path.join('.')}`) ? 'refused by name' : error.message;
  } finally {
    ingest.rollback();
  }
}

const addresses = { address: alice.address };
const parties = { sender: addresses, delegate_to: addresses };
const signed = { auth_id: 4, signer_key: '0x00' };
const cost = { runtime: 1, read_count: 2, read_length: 3, write_count: 4, write_length: 5 };
const operation = (index: number, burnchain_op: object) =>
  receipt({ id: hashOf(`operation ${index}`), raw: '0x00' }, index, { burnchain_op });
const first = block(null, 'first', [], { signer_bitvec: null });

/** An event of each kind with numbers, all of them required. */
const events: Record<string, ReceivedEvent> = {
  block: block(
    first,
    'second',
    [
      receipt(transfer(alice, 0, 300), 0, {
        execution_cost: cost,
        ...inMicroblock({ label: 'm', after: null, sequence: 3, transactions: [] }),
      }),
      operation(1, {
        stack_stx: { sender: addresses, reward_addr: 'x', stacked_ustx: 1, num_cycles: 2, max_amount: 3, ...signed },
      }),
      operation(2, { delegate_stx: { ...parties, delegated_ustx: 1, reward_addr: [0, 'x'], until_burn_height: 9 } }),
    ],
    {
      anchored_cost: cost,
      parent_burn_block_timestamp: START,
      tenure_height: 1,
      pox_v1_unlock_height: 1,
      pox_v4_unlock_height: 4,
      cycle_number: 5,
      reward_set: { signers: [{ signing_key: '0x00', stacked_amt: 7, weight: 8 }] },
      events: [nodeEvent(transfer(alice, 0, 300).id, 0, 'stx_mint_event', { recipient: alice.address, amount: '1' })],
    },
  ).event,
  burn_block: {
    path: '/new_burn_block',
    text: jsonOf({
      burn_block_hash: hashOf('burn'),
      burn_block_height: 7,
      burn_amount: 8,
      reward_recipients: [{ recipient: 'x', amt: 9 }],
      pox_transactions: [{ txid: hashOf('pox'), reward_recipients: [{ recipient: 'x', amt: 1, utxo_idx: 2 }] }],
    }),
    receivedAt: START,
  },
  attachments: {
    path: '/attachments/new',
    text: jsonOf([
      {
        attachment_index: 1,
        index_block_hash: hashOf('b'),
        block_height: 1,
        content_hash: `0x${'11'.repeat(20)}`,
        contract_id: 'ST000000000000000000002AMW42H.bns',
        metadata: '0x03',
        tx_id: hashOf('t'),
        content: '0x61',
      },
    ]),
    receivedAt: START,
  },
};

test.each(Object.entries(events))("%s: a number that can't be stored is refused by its name", (_, event) => {
  using open = openNew();
  open.ingest.receive(first.event);
  const before = everything(open.directory);
  const paths = [...numbersIn(parseJson(event.text))];
  expect(paths.length).toBeGreaterThan(1);
  for (const path of paths) {
    for (const number of unstorable) {
      const edit = { path: path.join('.'), number };
      const result = outcome(open, event, path, number);
      expect({ ...edit, result }).toEqual({ ...edit, result: 'refused by name' });
    }
  }
  expect(everything(open.directory)).toEqual(before);
  expect(open.ingest.receive(event)).toBe('applied');
});

test('costs that add up to more than a row can hold are refused, each by itself and together', () => {
  using open = openNew();
  const maximum = { ...cost, runtime: 2n ** 63n - 1n };
  const costs = (...costList: object[]) =>
    block(
      null,
      'costs',
      costList.map((execution_cost, index) => receipt(transfer(alice, index, 300), index, { execution_cost })),
    );
  expect(() => open.ingest.receive(costs(maximum, cost).event)).toThrow('an execution_cost adds up to more than');
  const tooHigh = { ...cost, runtime: 2n ** 63n };
  expect(() => open.ingest.receive(costs(tooHigh).event)).toThrow(
    'Field transactions.0.execution_cost.runtime: expected an integer from 0 to 9223372036854775807',
  );
  expect(open.ingest.receive(costs(maximum).event)).toBe('applied');
});

const HUGE = 2n ** 63n;

test.each([
  ['origin', (nonce: bigint) => transfer(alice, Number(nonce), 300)],
  ['sponsor', (nonce: bigint) => transfer(bob, 0, 300, { account: sponsor, nonce: Number(nonce) })],
])('a nonce of 2^63 or more of the %s is left out of the mempool, and rejected in a block', (_, make) => {
  using open = openNew();
  open.ingest.receive(block(null, 'one').event);
  const before = everything(open.directory);
  const huge = make(HUGE);
  const announced = { path: '/new_mempool_tx', text: JSON.stringify([huge.raw]), receivedAt: START };
  expect(open.ingest.receive(announced)).toBe('repeated');
  const mined = block(null, 'mined', [huge]);
  expect(() => open.ingest.receive(mined.event)).toThrow(`Transaction ${huge.id}: a nonce above 9223372036854775807`);
  expect(everything(open.directory)).toEqual(before);
  expect(journalRows(open.directory)).toHaveLength(entryOf(1));
});
