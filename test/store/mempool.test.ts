import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bytesEqual } from '../../src/base/bytes-equal.ts';
import type { Dictionaries } from '../../src/store/effects/dictionary.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import type { MempoolRows } from '../../src/store/ingest/mempool-rows.ts';
import { nonceRivals } from '../../src/store/ingest/nonce-rivals.ts';
import type { MempoolRow, Spends } from '../../src/store/ingest/stored-rows.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import {
  alice,
  announcement,
  block,
  blocksOn,
  bob,
  carol,
  drop,
  type MadeBlock,
  START,
  sponsor,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { assertProperty, Seen, timeout } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

interface Standing {
  state: number;
  by: string | null;
}

const pending: Standing = { state: 0, by: null };
/** The chain contains the transaction, and the mempool no longer does. */
const mined = undefined;
const replacedBy = (transaction: Transaction): Standing => ({ state: -10, by: transaction.id });
/** The standing after the node also dropped the transaction, in favour of another. */
const droppedFor = (transaction: Transaction): Standing => ({ state: -16, by: transaction.id });

const standings = ({ directory }: OpenIngest): Map<string, Standing> => {
  using db = new Database(indexPath(directory), { readonly: true });
  const rows = db
    .query<{ id: string; state: number; by: string | null }, []>(
      `SELECT '0x' || lower(hex(tx_id)) AS id, state,
              iif(replaced_by_tx_id IS NULL, NULL, '0x' || lower(hex(replaced_by_tx_id))) AS by
         FROM mempool_transactions`,
    )
    .all();
  return new Map(rows.map(({ id, state, by }) => [id, { state, by }]));
};

/** Returns the standing of each transaction; undefined if it never was in the mempool. */
const standingOf = (open: OpenIngest, ...transactions: Transaction[]): (Standing | undefined)[] => {
  expect(problemsIn(open.directory)).toEqual([]);
  const all = standings(open);
  return transactions.map(({ id }) => all.get(id));
};

const rowOf = <Row>({ directory }: OpenIngest, sql: string): Row | null => {
  using db = new Database(indexPath(directory), { readonly: true });
  return db.query<Row, []>(sql).get();
};
const progress = (open: OpenIngest) =>
  rowOf<{ version: number; pending: number }>(
    open,
    'SELECT mempool_version AS version, mempool_pending AS pending FROM progress',
  );
const receiptIn = (open: OpenIngest) =>
  rowOf(open, 'SELECT received_at, receipt_block_height AS height FROM mempool_transactions');

const take = (open: OpenIngest, ...blocks: MadeBlock[]) => {
  for (const { event } of blocks) open.ingest.receive(event);
};

/** Announces transactions, each in an event of its own. */
const announce = (open: OpenIngest, ...transactions: Transaction[]) => {
  for (const transaction of transactions) open.ingest.receive(announcement([transaction]));
};

const reasons = {
  ReplaceByFee: -16,
  ReplaceAcrossFork: -11,
  TooExpensive: -12,
  StaleGarbageCollect: -13,
  Problematic: -15,
};

for (const [reason, state] of Object.entries(reasons)) {
  test(`a transaction dropped as ${reason} isn't pending, and has the reason`, () => {
    using open = openNew();
    const [transaction, other] = [transfer(alice, 0, 200), transfer(bob, 0, 200)];
    open.ingest.receive(announcement([transaction, other]));
    const replacement = reason.startsWith('Replace') ? other : null;
    expect(open.ingest.receive(drop([transaction], reason, replacement))).toBe('applied');
    const by = replacement?.id ?? null;
    expect(standingOf(open, transaction, other)).toEqual([{ state, by }, pending]);
    expect(open.logged).toEqual([]);
  });
}

// The second is a property of every JavaScript object.
for (const reason of ['BadWeather', 'constructor']) {
  test(`a transaction dropped for ${reason}, which no node sends yet, counts as problematic and is logged`, () => {
    using open = openNew();
    const transaction = transfer(alice, 0, 200);
    announce(open, transaction);
    open.ingest.receive(drop([transaction], reason));
    expect(standingOf(open, transaction)).toEqual([{ state: -15, by: null }]);
    expect(open.logged).toEqual([{ event: 'node_data_unread', what: 'drop_reason', reason }]);
  });
}

test('a drop of unknown, dropped or mined transactions changes no pending ones, and is stored once', () => {
  using open = openNew();
  const [unknown, dropped, confirmed] = [transfer(carol, 0, 200), transfer(alice, 0, 200), transfer(bob, 0, 200)];
  open.ingest.receive(announcement([dropped, confirmed]));
  open.ingest.receive(drop([dropped], 'TooExpensive'));
  take(open, block(null, 'one', [confirmed]));
  const before = standings(open);
  expect(open.ingest.receive(drop([dropped], 'StaleGarbageCollect'))).toBe('repeated');
  expect(open.ingest.receive(drop([unknown, dropped, confirmed], 'StaleGarbageCollect'))).toBe('applied');
  const after = everything(open.directory);
  expect(open.ingest.receive(drop([unknown, dropped, confirmed], 'Problematic'))).toBe('repeated');
  expect(standings(open)).toEqual(before);
  expect(everything(open.directory)).toEqual(after);
});

test('a transaction that is announced after the node dropped it is dropped, and waits once it is announced again', () => {
  using open = openNew();
  const [transaction, other] = [transfer(alice, 0, 200), transfer(alice, 0, 100)];
  open.ingest.receive(drop([transaction], 'ReplaceAcrossFork', other));
  expect(open.ingest.receive(announcement([transaction]))).toBe('applied');
  expect(open.ingest.receive(announcement([other]))).toBe('applied');
  expect(standingOf(open, transaction, other)).toEqual([{ state: -11, by: other.id }, pending]);
  announce(open, transaction);
  expect(standingOf(open, transaction, other)).toEqual([pending, replacedBy(transaction)]);
});

test('a transaction that is broadcast again long after the node dropped it, and was never announced here before, waits', () => {
  for (const [blocks, state] of [
    [10, -13],
    [11, 0],
  ] as const) {
    using open = openNew();
    const transaction = transfer(alice, 0, 200);
    const [first, ...others] = blocksOn(null, ...Array.from({ length: blocks + 1 }, (_, index) => `block ${index}`));
    take(open, first!);
    open.ingest.receive(drop([transaction], 'StaleGarbageCollect'));
    take(open, ...others);
    expect(open.ingest.receive(announcement([transaction]))).toBe('applied');
    expect(standingOf(open, transaction)[0]?.state).toBe(state);
  }
});

test('a drop after the announcement of a replacement makes the replacement pending, with any fee', () => {
  using open = openNew();
  const [high, low] = [transfer(alice, 0, 300), transfer(alice, 0, 200)];
  announce(open, high, low);
  expect(standingOf(open, high, low)).toEqual([pending, replacedBy(high)]);
  open.ingest.receive(drop([high], 'ReplaceAcrossFork', low));
  expect(standingOf(open, high, low)).toEqual([{ state: -11, by: low.id }, pending]);
});

/** Returns a chain whose second block contains a transaction, and two blocks of a branch that overtakes it. */
function forkOver(transaction: Transaction) {
  const root = block(null, 'root');
  const holder = block(root, 'holder', [transaction]);
  return { root, holder, rivals: blocksOn(root, 'rival', 'winner') };
}

test('a drop of a mined transaction holds when its block is orphaned, and its replacement is pending', () => {
  for (const announced of [true, false]) {
    using open = openNew();
    const [transaction, other] = [transfer(alice, 0, 300), transfer(alice, 0, 200)];
    const { root, holder, rivals } = forkOver(transaction);
    if (announced) open.ingest.receive(announcement([transaction]));
    take(open, root, holder);
    open.ingest.receive(drop([transaction], 'ReplaceAcrossFork', other));
    announce(open, other);
    expect(standingOf(open, transaction, other)).toEqual([mined, replacedBy(transaction)]);
    take(open, ...rivals);
    expect(standingOf(open, transaction, other)).toEqual([{ state: -11, by: other.id }, pending]);
    // Once the first branch has the chain again, it is mined as before, and the drop is history.
    take(open, ...blocksOn(holder, 'third', 'fourth'));
    expect(standingOf(open, transaction, other)).toEqual([mined, replacedBy(transaction)]);
  }
});

test('a mined transaction that is announced again after its drop waits when its block is orphaned', () => {
  using open = openNew();
  const transaction = transfer(alice, 0, 300);
  const { root, holder, rivals } = forkOver(transaction);
  announce(open, transaction);
  take(open, root, holder);
  open.ingest.receive(drop([transaction], 'ReplaceAcrossFork'));
  expect(open.ingest.receive(announcement([transaction]))).toBe('applied');
  take(open, ...rivals);
  expect(standingOf(open, transaction)).toEqual([pending]);
});

test("drops of transactions that aren't pending are deleted when no reorganization can reach them", () => {
  using open = openNew();
  const [transaction, root] = [transfer(alice, 0, 200), block(null, 'root')];
  take(open, root);
  open.ingest.receive(drop([transaction], 'TooExpensive'));
  using db = new Database(indexPath(open.directory));
  const drops = () => db.query('SELECT height FROM early_drops').all();
  const next = block(root, 'next');
  take(open, next);
  expect(drops()).toEqual([{ height: 1 }]);
  // As it would be 6,000 blocks later.
  db.run('UPDATE early_drops SET height = height - 5999');
  const third = block(next, 'third');
  take(open, third);
  expect(drops()).toHaveLength(0);
});

test('a dropped transaction that is announced again waits again, with the new time of receipt', () => {
  using open = openNew();
  const transaction = transfer(alice, 0, 200);
  open.ingest.receive(announcement([transaction], START));
  open.ingest.receive(drop([transaction], 'StaleGarbageCollect'));
  take(open, block(null, 'one'));
  expect(open.ingest.receive(announcement([transaction], START + 500))).toBe('applied');
  expect(standingOf(open, transaction)).toEqual([pending]);
  expect(receiptIn(open)).toEqual({ received_at: (START + 500) * 1_000_000, height: 1 });
});

test('if two transactions have the same nonce, the one with the higher fee is pending, in either order', () => {
  for (const reversed of [false, true]) {
    using open = openNew();
    const [low, high] = [transfer(alice, 0, 999), transfer(alice, 0, 1000)];
    for (const transaction of reversed ? [high, low] : [low, high]) open.ingest.receive(announcement([transaction]));
    expect(standingOf(open, low, high)).toEqual([replacedBy(high), pending]);
  }
});

test('a replaced transaction that is announced again stays replaced while its replacement is pending', () => {
  using open = openNew();
  const [low, high] = [transfer(alice, 0, 200), transfer(alice, 0, 300)];
  announce(open, low, high);
  const before = everything(open.directory);
  expect(open.ingest.receive(announcement([low], START + 9))).toBe('repeated');
  expect(everything(open.directory)).toEqual(before);
  open.ingest.receive(drop([high], 'TooExpensive'));
  expect(open.ingest.receive(announcement([low], START + 10))).toBe('applied');
  expect(standingOf(open, low)).toEqual([pending]);
});

test('if two transactions have the same nonce and fee, the later one is pending, even if the first is announced again', () => {
  using open = openNew();
  const [first, second] = [transfer(alice, 0, 300), transfer(alice, 0, 300, undefined, bob)];
  open.ingest.receive(announcement([first], START));
  open.ingest.receive(announcement([second], START + 1));
  expect(standingOf(open, first, second)).toEqual([replacedBy(second), pending]);
  const before = everything(open.directory);
  expect(open.ingest.receive(announcement([first], START + 2))).toBe('repeated');
  expect(standingOf(open, first, second)).toEqual([replacedBy(second), pending]);
  expect(everything(open.directory)).toEqual(before);
});

test('a transaction dropped for another reason replaces nothing', () => {
  using open = openNew();
  const [high, low] = [transfer(alice, 0, 900), transfer(alice, 0, 200)];
  announce(open, high);
  open.ingest.receive(drop([high], 'TooExpensive'));
  announce(open, low);
  expect(standingOf(open, high, low)).toEqual([{ state: -12, by: null }, pending]);
});

test('a mined transaction replaces those with its nonce; when its block is orphaned, the one with the highest fee waits', () => {
  using open = openNew();
  const [fee200, fee300, fee100] = [transfer(alice, 0, 200), transfer(alice, 0, 300), transfer(alice, 0, 100)];
  announce(open, fee200, fee300);
  const block1 = block(null, 'one');
  const withFee100 = block(block1, 'two', [fee100]);
  take(open, block1, withFee100);
  expect(standingOf(open, fee200, fee300, fee100)).toEqual([replacedBy(fee100), replacedBy(fee100), undefined]);
  take(open, ...blocksOn(block1, 'rival of two', 'three'));
  expect(standingOf(open, fee200, fee300, fee100)).toEqual([replacedBy(fee300), pending, replacedBy(fee300)]);
  const [third, fourth] = blocksOn(withFee100, 'rival of three', 'four') as [MadeBlock, MadeBlock];
  take(open, third);
  expect(standingOf(open, fee200, fee300, fee100)).toEqual([replacedBy(fee300), pending, replacedBy(fee300)]);
  take(open, fourth);
  expect(standingOf(open, fee200, fee300, fee100)).toEqual([replacedBy(fee100), replacedBy(fee100), mined]);
});

test("a dropped transaction isn't pending again when its replacement leaves the chain, unless it is announced again", () => {
  for (const reason of ['ReplaceByFee', 'StaleGarbageCollect']) {
    using open = openNew();
    const [transaction, other] = [transfer(alice, 0, 300), transfer(alice, 0, 200)];
    announce(open, transaction);
    const first = block(null, 'one');
    const second = block(first, 'two', [other]);
    take(open, first, second);
    expect(standingOf(open, transaction)).toEqual([replacedBy(other)]);
    expect(open.ingest.receive(drop([transaction], reason))).toBe('applied');
    expect(open.ingest.receive(drop([transaction], reason))).toBe('repeated');
    expect(standingOf(open, transaction)).toEqual([droppedFor(other)]);
    take(open, ...blocksOn(first, 'rival of two', 'three'));
    expect(standingOf(open, transaction, other)).toEqual([droppedFor(other), pending]);
    announce(open, transaction);
    expect(standingOf(open, transaction, other)).toEqual([pending, replacedBy(transaction)]);
  }
});

test('a transaction that the node dropped for a higher fee names its present replacement', () => {
  using open = openNew();
  const [low, high, highest] = [transfer(alice, 0, 200), transfer(alice, 0, 300), transfer(alice, 0, 400)];
  announce(open, low);
  open.ingest.receive(drop([low], 'ReplaceByFee', high));
  announce(open, high);
  expect(standingOf(open, low)).toEqual([droppedFor(high)]);
  announce(open, highest);
  expect(standingOf(open, low, high)).toEqual([droppedFor(highest), replacedBy(highest)]);
});

test('if many transactions with one nonce come back, each is looked up only a few times', () => {
  const N = 300;
  for (const share of ['origin', 'payer']) {
    const pending = Array.from({ length: N }, (_, index) => ({
      id: index,
      order: index,
      tx_id: Uint8Array.of(index >> 8, index),
      state: 0,
      sender_id: share === 'origin' ? 1 : index + 2,
      nonce: '7',
      sponsor_id: share === 'origin' ? null : 1,
      sponsor_nonce: share === 'origin' ? null : '7',
      fee: 'C200',
      received_at: index,
      receipt_block_height: 1,
      recipient_id: null,
      contract_id: null,
    }));
    let matches = 0;
    const moved = new Map<number, number>();
    const rows = {
      find: (txId: Uint8Array) => pending.find((row) => bytesEqual(row.tx_id, txId)) ?? null,
      using({ sender, nonce, payer, payerNonce }: Spends) {
        const uses =
          (account: number, by: bigint) =>
          ({ sender_id, sponsor_id }: MempoolRow) =>
            by === 7n && (sender_id === account || sponsor_id === account);
        const spent = pending.filter((row) => uses(sender, nonce)(row) || uses(payer, payerNonce)(row));
        matches += spent.length;
        return spent;
      },
      move: ({ id }: MempoolRow, state: number) => void moved.set(id!, state),
    } as unknown as MempoolRows;
    using open = openNew();
    using db = new Database(indexPath(open.directory), { readonly: true });
    nonceRivals(db, {} as unknown as Dictionaries, rows).resolve(pending.map(({ tx_id }) => tx_id));
    expect([...moved.keys()].sort((a, b) => a - b)).toEqual(pending.slice(0, -1).map(({ id }) => id));
    expect(matches).toBeLessThan(4 * N);
  }
});

test("a mined transaction doesn't replace one that shares no nonce with it, although a third shares one with each", () => {
  using open = openNew();
  const direct = transfer(alice, 0, 300);
  const between = transfer(alice, 0, 200, { account: sponsor, nonce: 7 });
  const payment = transfer(bob, 0, 100, { account: sponsor, nonce: 7 });
  announce(open, direct);
  const block1 = block(null, 'one');
  const block2 = block(block1, 'two', [between]);
  const rival = block(block1, 'rival of two', [payment]);
  take(open, block1, block2, rival, block(rival, 'three'));
  expect(standingOf(open, direct, between)).toEqual([pending, replacedBy(payment)]);
});

test('a transaction of an orphaned block that was never announced waits, received when its Bitcoin block was', () => {
  using open = openNew();
  const transaction = transfer(alice, 0, 200);
  const root = block(null, 'root');
  const holder = block(root, 'holder', [transaction], { burn_block_time: START + 77 });
  take(open, root, holder, ...blocksOn(root, 'rival', 'winner'));
  expect(standingOf(open, transaction)).toEqual([pending]);
  expect(receiptIn(open)).toEqual({ received_at: (START + 77) * 1_000_000, height: 2 });
});

const MINUTE = 60;
const LIFETIME = 2560 * MINUTE;

test('in Nakamoto a transaction is collected by the first block that comes 2560 minutes after it, and not before', () => {
  for (const [age, state] of [
    [LIFETIME - 1, 0],
    [LIFETIME, -14],
  ] as const) {
    using open = openNew();
    const transaction = transfer(alice, 0, 200);
    const first = block(null, 'first');
    take(open, first);
    open.ingest.receive(announcement([transaction], START));
    const second = block(first, 'second');
    open.ingest.receive({ ...second.event, receivedAt: (START + age) * 1_000_000 });
    expect(standingOf(open, transaction)).toEqual([{ state, by: null }]);
  }
});

test("a block that isn't canonical also expires transactions, and changes the mempool's version", () => {
  using open = openNew();
  const transaction = transfer(alice, 0, 200);
  const first = block(null, 'first');
  take(open, first);
  open.ingest.receive(announcement([transaction], START));
  const before = progress(open);
  const rival = block(null, 'rival of the first');
  open.ingest.receive({ ...rival.event, receivedAt: (START + LIFETIME) * 1_000_000 });
  expect(standingOf(open, transaction)).toEqual([{ state: -14, by: null }]);
  expect(progress(open)?.pending).toBe(0);
  expect(progress(open)?.version).not.toBe(before?.version);
});

test('before Nakamoto a transaction is collected when the tip is 256 blocks above its receipt, however old it is', () => {
  using open = openNew();
  const old = { signer_bitvec: null };
  let tip = block(null, 'block 1', [], old);
  take(open, tip);
  const transaction = transfer(alice, 0, 200);
  open.ingest.receive(announcement([transaction], START - 10 * LIFETIME));
  for (let height = 2; height <= 257; height++) {
    tip = block(tip, `block ${height}`, [], old);
    open.ingest.apply(tip.event);
  }
  open.ingest.commit();
  // The tip is judged by as it was before the block that is the occasion.
  expect(standingOf(open, transaction)).toEqual([pending]);
  take(open, block(tip, 'block 258', [], old));
  expect(standingOf(open, transaction)).toEqual([{ state: -14, by: null }]);
});

test('a collected transaction that is announced again waits again', () => {
  using open = openNew();
  const transaction = transfer(alice, 0, 200);
  const first = block(null, 'first');
  take(open, first);
  open.ingest.receive(announcement([transaction], START));
  open.ingest.receive({ ...block(first, 'second').event, receivedAt: (START + LIFETIME) * 1_000_000 });
  open.ingest.receive(announcement([transaction], START + LIFETIME));
  expect(standingOf(open, transaction)).toEqual([pending]);
});

test('a transaction announced and expired before the index commits is expired, and pending again when announced again', () => {
  const applyTogether = (open: OpenIngest, ...events: ReceivedEvent[]): void => {
    for (const event of events) open.ingest.apply(event);
    open.ingest.commit();
  };
  const [transaction, other] = [transfer(alice, 0, 200), transfer(bob, 0, 200)];
  const expiry = START + LIFETIME;
  using nakamoto = openNew();
  const first = block(null, 'first');
  const second = { ...block(first, 'second').event, receivedAt: expiry * 1_000_000 };
  applyTogether(nakamoto, first.event, announcement([transaction, other], START), second);
  expect(standingOf(nakamoto, transaction, other)).toEqual(Array(2).fill({ state: -14, by: null }));

  using epoch2 = openNew();
  const old = { signer_bitvec: null };
  const blocks = [block(null, 'block 1', [], old)];
  for (let height = 2; height <= 258; height++) blocks.push(block(blocks.at(-1)!, `block ${height}`, [], old));
  const [root, ...others] = blocks.map(({ event }) => event);
  applyTogether(epoch2, root!, announcement([transaction, other], START), ...others);
  expect(standingOf(epoch2, transaction, other)).toEqual(Array(2).fill({ state: -14, by: null }));

  using renewed = openNew();
  applyTogether(renewed, first.event, announcement([transaction], START), second, announcement([transaction], expiry));
  expect(standingOf(renewed, transaction)).toEqual([pending]);
});

/** A transaction of few accounts and nonces, identified by the nonces that it spends. */
interface Spending {
  origin: string;
  payer: string;
  fee: number;
  transaction: Transaction;
}

const parties = [alice, bob, sponsor] as const;
const party = fc.record({ account: fc.nat(2), nonce: fc.nat(1) });
const nonceOf = ({ account, nonce }: { account: number; nonce: number }): string => `${account} ${nonce}`;

/** Transactions that share nonces in every way, of different fees. */
const spendings = fc
  .array(fc.record({ origin: party, payer: fc.option(party, { freq: 2 }) }), { minLength: 3, maxLength: 6 })
  .chain((parts) => fc.tuple(fc.constant(parts), fc.shuffledSubarray([...parts.keys()], { minLength: parts.length })))
  .map(([parts, ranks]) =>
    parts.map(({ origin, payer }, index): Spending => {
      const fee = 100 + (ranks[index] ?? 0);
      const pays = payer === null ? undefined : { account: parties[payer.account]!, nonce: payer.nonce };
      const transaction = transfer(parties[origin.account]!, origin.nonce, fee, pays);
      return { origin: nonceOf(origin), payer: nonceOf(payer ?? origin), fee, transaction };
    }),
  );

type Step =
  | { do: 'announce'; which: number }
  | { do: 'drop'; which: number; by: number | null }
  | { do: 'mine'; which: number[] }
  /** Two blocks on a branch next to the tip. */
  | { do: 'fork'; which: number[] };

const which = fc.nat(5);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('announce' as const), which }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('drop' as const), which, by: fc.option(which) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('mine' as const), which: fc.array(which, { maxLength: 2 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('fork' as const), which: fc.array(which, { maxLength: 1 }) }) },
  ),
  { minLength: 4, maxLength: 16 },
);

const share = (a: Spending, b: Spending): boolean =>
  [a.origin, a.payer].some((nonce) => nonce === b.origin || nonce === b.payer);

type Fate = 'waits' | 'replaced' | 'dropped';

/** Computes a node's mempool by the node's rule, from all announcements in order. */
class NodeModel {
  readonly fates = new Map<number, Fate>();
  readonly #arrivals = new Map<number, number>();
  readonly #announced = new Set<number>();
  readonly #early = new Set<number>();
  readonly spendings: readonly Spending[];
  /** Indexes of the transactions of each block of the chain, and the time of the block. */
  readonly chain: { included: number[]; time: number }[] = [];

  constructor(spendings: readonly Spending[]) {
    this.spendings = spendings;
  }

  get mined(): number[] {
    return this.chain.flatMap(({ included }) => included);
  }

  /** Returns the transactions that a block can contain after others. */
  selectFitting(candidates: readonly number[], blockers: readonly number[]): number[] {
    const included: number[] = [];
    for (const index of candidates) {
      const isFree = ![...blockers, ...included].some((other) => this.#share(index, other));
      if (isFree) included.push(index);
    }
    return included;
  }

  #share = (a: number, b: number): boolean => share(this.spendings[a]!, this.spendings[b]!);

  #isRuledOut = (index: number): boolean => this.mined.some((other) => this.#share(index, other));

  /** Announces all waiting transactions again, in the order of their arrival. */
  #resolve(): void {
    const waiting = [...this.fates].filter(([, fate]) => fate === 'waits').map(([index]) => index);
    const pool: number[] = [];
    for (const index of waiting.sort((a, b) => (this.#arrivals.get(a) ?? 0) - (this.#arrivals.get(b) ?? 0))) {
      const { origin, payer, fee } = this.spendings[index]!;
      const rival = pool.find((other) => this.spendings[other]!.origin === origin);
      if (this.#isRuledOut(index) || (rival !== undefined && this.spendings[rival]!.fee > fee)) {
        this.fates.set(index, 'replaced');
        continue;
      }
      for (const other of pool.splice(0)) {
        const isOut = this.spendings[other]!.origin === origin || this.spendings[other]!.payer === payer;
        if (isOut) this.fates.set(other, 'replaced');
        else pool.push(other);
      }
      pool.push(index);
    }
  }

  announce(index: number, time: number): void {
    const isFirst = !this.#announced.has(index);
    this.#announced.add(index);
    if (this.mined.includes(index)) {
      if (isFirst) this.#arrivals.set(index, time);
      else this.#early.delete(index);
      return;
    }
    const fate = this.fates.get(index);
    if (fate === 'waits') return;
    if (fate === 'replaced') {
      const { origin, fee } = this.spendings[index]!;
      const isReplaced = (other: number) =>
        this.spendings[other]!.origin === origin && this.spendings[other]!.fee > fee;
      const rivals = [...this.fates].filter(([, other]) => other === 'waits').map(([other]) => other);
      if (this.#isRuledOut(index) || rivals.some(isReplaced)) return;
    }
    this.#arrivals.set(index, time);
    this.fates.set(index, fate === undefined && this.#early.delete(index) ? 'dropped' : 'waits');
    this.#resolve();
  }

  drop(index: number, rival: number | null): void {
    const fate = this.fates.get(index);
    if (fate === undefined) this.#early.add(index);
    else this.fates.set(index, 'dropped');
    if (fate !== 'waits' || rival === null || this.fates.get(rival) !== 'replaced') return;
    this.fates.set(rival, 'waits');
    this.#resolve();
  }

  grow(included: number[], time: number): void {
    this.chain.push({ included, time });
    for (const index of included) this.fates.delete(index);
    this.#resolve();
  }

  /** Replaces the highest block by two blocks of another branch. */
  fork(included: number[], time: number): void {
    const orphan = this.chain.pop();
    const orphaned = orphan?.included ?? [];
    for (const index of orphaned) {
      if (!this.#arrivals.has(index)) this.#arrivals.set(index, orphan?.time ?? 0);
      this.fates.set(index, this.#early.delete(index) ? 'dropped' : 'waits');
    }
    for (const [index, fate] of this.fates) {
      if (fate === 'replaced' && orphaned.some((other) => this.#share(index, other))) this.fates.set(index, 'waits');
    }
    this.grow(included, time);
    this.grow([], time);
  }
}

test(
  "after random announcements, drops, blocks and forks, the mempool equals a node's, without transactions that the chain rules out",
  () => {
    const seen = new Seen({ waits: 1, replaced: 1, dropped: 1 });
    assertProperty(
      fc.property(spendings, steps, (payments, script) => {
        using open = openNew();
        const model = new NodeModel(payments);
        const pick = (numbers: readonly number[]) => numbers.map((index) => payments[index]!.transaction);
        const blocks: MadeBlock[] = [];
        let time = START;
        let last = '';
        /** Posts an event. @returns whether it differs from the last event that had an effect */
        const post = (event: ReceivedEvent): boolean => {
          const isOther = event.text !== last;
          if (open.ingest.receive(event) === 'applied') last = event.text;
          return isOther;
        };
        const grow = (parent: MadeBlock | null, included: readonly number[]) => {
          const next = block(parent, `${time} ${parent?.height}`, pick(included), { burn_block_time: time });
          blocks.push(next);
          post({ ...next.event, receivedAt: time * 1_000_000 });
        };
        for (const step of script) {
          time += 2;
          const named = [step.which].flat().filter((index) => index < payments.length);
          if (step.do === 'announce') {
            for (const index of named) {
              if (post(announcement(pick([index]), time))) model.announce(index, time);
            }
          } else if (step.do === 'drop') {
            const rival = step.by !== null && step.by < payments.length ? step.by : null;
            const replacement = rival === null ? null : payments[rival]!.transaction;
            for (const index of named.filter((each) => each !== rival)) {
              if (post(drop(pick([index]), 'ReplaceAcrossFork', replacement))) model.drop(index, rival);
            }
          } else if (step.do === 'mine') {
            const included = model.selectFitting([...new Set(named)], model.mined);
            grow(blocks.at(-1) ?? null, included);
            model.grow(included, time);
          } else if (blocks.length > 0) {
            const below = model.chain.slice(0, -1).flatMap(({ included }) => included);
            const included = model.selectFitting(named, below);
            blocks.pop();
            grow(blocks.at(-1) ?? null, included);
            grow(blocks.at(-1) ?? null, []);
            model.fork(included, time);
          }
        }
        const rows = standings(open);
        const fateOf = ({ state }: Standing): Fate => (state === 0 ? 'waits' : state === -10 ? 'replaced' : 'dropped');
        const stored = new Map(payments.map(({ transaction: { id } }, index) => [index, rows.get(id)] as const));
        const fates = [...stored].filter(([, row]) => row !== undefined).map(([index, row]) => [index, fateOf(row!)]);
        expect(new Map(fates as [number, Fate][])).toEqual(new Map([...model.fates].sort(([a], [b]) => a - b)));
        for (const fate of model.fates.values()) seen.add(fate);
        const waiting = payments.filter((_, index) => model.fates.get(index) === 'waits');
        for (const other of waiting) for (const i of model.mined) expect(share(other, payments[i]!)).toBe(false);
      }),
      { seen, cases: 20 },
    );
  },
  timeout,
);
