import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bytesEqual } from '../../src/base/bytes-equal.ts';
import { nakamotoCoinbase, tenureChange } from '../../src/devnet/transaction.ts';
import type { Dictionaries } from '../../src/store/effects/dictionary.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import type { MempoolRows } from '../../src/store/ingest/mempool-rows.ts';
import { nonceRivals } from '../../src/store/ingest/nonce-rivals.ts';
import type { MempoolRow, Spends } from '../../src/store/ingest/stored-rows.ts';
import { chainTransactions } from '../codec/chain-transactions.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import {
  alice,
  announcement,
  block,
  blocksOn,
  bob,
  drop,
  hashOf,
  type MadeBlock,
  nodeEvent,
  receipt,
  START,
  signed,
  sponsor,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { problemsIn, recounts } from '../support/recounts/recounts.ts';

/** The states of all transactions, by id. */
function statesIn({ directory }: OpenIngest): Record<string, number> {
  expect(problemsIn(directory)).toEqual([]);
  using db = new Database(indexPath(directory), { readonly: true });
  const rows = db.query<[string, number], []>("SELECT '0x' || lower(hex(tx_id)), state FROM mempool_transactions");
  return Object.fromEntries(rows.values());
}

// The second is a property of every JavaScript object.
for (const reason of ['BadWeather', 'constructor']) {
  test(`a transaction dropped for ${reason}, which no node sends yet, counts as problematic and is logged`, () => {
    using open = openNew();
    const transaction = transfer(alice, 0, 200);
    open.ingest.receive(announcement([transaction]));
    open.ingest.receive(drop([transaction], reason));
    expect(statesIn(open)).toEqual({ [transaction.id]: -15 });
    expect(open.logged).toEqual([{ event: 'node_data_unread', what: 'drop_reason', reason }]);
  });
}

test('a transaction that was replaced for its payer replaces a lower fee when it is announced again', () => {
  using open = openNew();
  const high = transfer(alice, 0, 300, { account: sponsor, nonce: 7 });
  const [ofPayer, low] = [transfer(bob, 0, 100, { account: sponsor, nonce: 7 }), transfer(alice, 0, 200)];
  for (const transaction of [high, ofPayer, low]) open.ingest.receive(announcement([transaction]));
  expect(statesIn(open)).toEqual({ [high.id]: -10, [ofPayer.id]: 0, [low.id]: 0 });
  open.ingest.receive(announcement([high], START + 1));
  expect(statesIn(open)).toEqual({ [high.id]: 0, [ofPayer.id]: -10, [low.id]: -10 });
});

test('of an orphaned block, only transactions that somebody broadcast are pending', () => {
  using open = openNew();
  const [word, hash] = [new Uint8Array(32), new Uint8Array(20)];
  const change = { tenure: hash, previousTenure: hash, burnView: hash, minerHash: hash, previousTenureEnd: word };
  const made = [
    nakamotoCoinbase(word, undefined, new Uint8Array(80)),
    tenureChange({ ...change, previousTenureBlocks: 1, cause: 'block_found' }),
  ].map((payload, nonce) => signed(alice, nonce, 0, payload));
  const [sent, root] = [transfer(bob, 0, 200), block(null, 'root')];
  const operation = receipt({ id: hashOf('operation'), raw: '0x00' }, 3);
  const { txId: id, raw } = chainTransactions.find(({ title }) => title.endsWith('unsigned, chain id 0'))!;
  const orphan = block(root, 'orphan', [...made.map(receipt), receipt(sent, 2), operation, receipt({ id, raw }, 4)]);
  for (const { event } of [root, orphan, ...blocksOn(root, 'one', 'two')]) open.ingest.receive(event);
  expect(statesIn(open)).toEqual({ [sent.id]: 0 });
});

test('a transaction that the chain contains twice, which no real node sends, is pending once after a fork', () => {
  using open = openNew();
  const [transaction, root] = [transfer(alice, 0, 200), block(null, 'root')];
  const holder = block(root, 'holder', [transaction]);
  const blocks = [root, holder, block(holder, 'again', [transaction])];
  for (const { event } of [...blocks, ...blocksOn(root, 'one', 'two', 'three')]) open.ingest.apply(event);
  open.ingest.commit();
  expect(statesIn(open)).toEqual({ [transaction.id]: 0 });
});

test('receipts of mined transactions, and drops of unknown ones, are deleted when no reorganization can reach them', () => {
  using open = openNew();
  const [unknown, announced, root] = [transfer(alice, 0, 200), transfer(bob, 0, 200), block(null, 'root')];
  open.ingest.receive(root.event);
  open.ingest.receive(announcement([announced]));
  open.ingest.receive(drop([unknown], 'TooExpensive'));
  using db = new Database(indexPath(open.directory));
  const heights = () =>
    db.query('SELECT height FROM early_drops UNION ALL SELECT position >> 20 FROM mined_receipts').values();
  const next = block(root, 'next', [announced]);
  open.ingest.receive(next.event);
  expect(heights()).toEqual([[1], [2]]);
  // As if the next block were 6,000 blocks above them.
  db.run('UPDATE early_drops SET height = height - 5998');
  db.run('UPDATE mined_receipts SET position = position - (5999 << 20)');
  const third = block(next, 'third');
  open.ingest.receive(third.event);
  expect(heights()).toHaveLength(2);
  open.ingest.receive(block(third, 'fourth').event);
  expect(heights()).toEqual([]);
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

/** Seconds after which a Nakamoto node discards a pending transaction. */
const LIFETIME = 2560 * 60;

test('before Nakamoto a transaction is collected when the tip is 256 blocks above its receipt, however old it is', () => {
  for (const isCommitted of [true, false]) {
    using open = openNew();
    const old = { signer_bitvec: null };
    const transaction = transfer(alice, 0, 200);
    let tip = block(null, 'block 1', [], old);
    open.ingest.apply(tip.event);
    open.ingest.apply(announcement([transaction], START - 10 * LIFETIME));
    if (isCommitted) open.ingest.commit();
    for (let height = 2; height <= 257; height++) {
      tip = block(tip, `block ${height}`, [], old);
      open.ingest.apply(tip.event);
    }
    // The tip before a block decides.
    if (isCommitted) open.ingest.commit();
    if (isCommitted) expect(statesIn(open)).toEqual({ [transaction.id]: 0 });
    open.ingest.apply(block(tip, 'block 258', [], old).event);
    open.ingest.commit();
    expect(statesIn(open)).toEqual({ [transaction.id]: -14 });
  }
});

const reasons = {
  ReplaceByFee: -16,
  ReplaceAcrossFork: -11,
  TooExpensive: -12,
  StaleGarbageCollect: -13,
  Problematic: -15,
};

/** A transaction of few accounts and nonces, with the nonces that it spends. */
interface Spending {
  origin: string;
  payer: string;
  fee: number;
  /** Number of its accounts. */
  parties: number;
  transaction: Transaction;
}

const parties = [alice, sponsor, bob] as const;
const party = (...accounts: number[]) =>
  fc.record({ account: fc.constantFrom(...accounts), nonce: fc.constantFrom(0, 0, 0, 1) });
const nonceOf = ({ account, nonce }: { account: number; nonce: number }): string => `${account} ${nonce}`;

/** Transactions that share nonces in every way, some of equal fees. */
const spendings = fc
  .uniqueArray(
    fc.record({
      origin: party(0, 0, 1, 2),
      payer: fc.option(party(1, 1, 0), { freq: 2 }),
      fee: fc.nat(3),
      to: fc.nat(2),
    }),
    { minLength: 3, maxLength: 5, selector: (parts) => JSON.stringify(parts) },
  )
  .map((all) =>
    all.map(({ origin, payer, fee, to }): Spending => {
      const pays = payer === null ? undefined : { account: parties[payer.account]!, nonce: payer.nonce };
      const transaction = transfer(parties[origin.account]!, origin.nonce, 100 + fee, pays, parties[to]!);
      const { size } = new Set([origin.account, payer?.account ?? origin.account, to]);
      return { origin: nonceOf(origin), payer: nonceOf(payer ?? origin), fee, parties: size, transaction };
    }),
  );

const index = fc.nat(4);
const which = fc.uniqueArray(index, { minLength: 1, maxLength: 3 });
const included = fc.uniqueArray(index, { maxLength: 2 });
const reason = fc.constantFrom(...(Object.keys(reasons) as (keyof typeof reasons)[]));
const by = fc.option(index);
/** More blocks without transactions. Ten blocks after a drop, its transaction may be announced again. */
const more = fc.constantFrom(0, 0, 9, 10);
const depth = fc.integer({ min: 1, max: 3 });
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('announce' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('drop' as const), which, reason, by }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('mine' as const), which: included, more }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fork' as const), which: included, depth }) },
  // The branch that the last fork orphaned wins again.
  { weight: 1, arbitrary: fc.record({ do: fc.constant('return' as const) }) },
);
const waits = fc.oneof({ weight: 16, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: fc.constant(LIFETIME - 1) });
/** Seconds before a step, and whether the index commits after the step. */
const timing = fc.record({ wait: waits, commits: fc.boolean() });
const steps = fc.array(fc.tuple(timing, action), { minLength: 8, maxLength: 24 });

interface Receipt {
  time: number;
  height: number;
}

interface Row extends Receipt {
  state: number;
  by: number | null;
}

interface ModelBlock {
  made: MadeBlock;
  /** Indexes of its transactions. */
  included: number[];
  burnTime: number;
}

const [PENDING, REPLACED, COLLECTED, REPLACED_AND_DROPPED] = [0, -10, -14, -16] as const;

/** The mempool by a node's rules. Transactions are numbers: their indexes. */
class MempoolModel {
  /** In the order of their addition. */
  readonly rows = new Map<number, Row>();
  readonly chain: ModelBlock[] = [];
  /** Drops of transactions that have no row. */
  readonly #drops = new Map<number, Omit<Row, 'time'>>();
  /** Receipts of mined transactions. */
  readonly #receipts = new Map<number, Receipt>();
  readonly #spendings: readonly Spending[];
  readonly #seen: Seen;

  constructor(spendings: readonly Spending[], seen: Seen) {
    this.#spendings = spendings;
    this.#seen = seen;
  }

  get #mined(): number[] {
    return this.chain.flatMap(({ included }) => included);
  }

  #feeOf = (txn: number): number => this.#spendings[txn]!.fee;
  #haveSame = (key: 'origin' | 'payer', a: number, b: number): boolean =>
    this.#spendings[a]![key] === this.#spendings[b]![key];

  /** Whether only one of two transactions can be in the mempool. */
  #areRivals = (a: number, b: number): boolean => this.#haveSame('origin', a, b) || this.#haveSame('payer', a, b);

  /** Whether only one of two transactions can be on the chain. */
  #exclude(a: number, b: number): boolean {
    const { origin, payer } = this.#spendings[b]!;
    return [this.#spendings[a]!.origin, this.#spendings[a]!.payer].some((nonce) => nonce === origin || nonce === payer);
  }

  /** The newest transaction of the chain that rules out another. */
  #minedRival = (txn: number): number | null => this.#mined.findLast((other) => this.#exclude(txn, other)) ?? null;

  #rowsOf = (...states: number[]): [number, Row][] => [...this.rows].filter(([, { state }]) => states.includes(state));

  /** Returns the transactions that a block can contain above a height. */
  selectFitting(candidates: readonly number[], height: number): number[] {
    const included = this.chain.slice(0, height).flatMap((block) => block.included);
    const before = included.length;
    for (const txn of candidates) if (!included.some((other) => this.#exclude(txn, other))) included.push(txn);
    return included.slice(before);
  }

  #replace(row: Row, by: number): void {
    row.by = by;
    if (row.state === PENDING) row.state = REPLACED;
  }

  #isHere = (txn: number): boolean => this.rows.get(txn)?.state === PENDING || this.#mined.includes(txn);

  /** Announces pending transactions and those that share keys with them again, in the order of their arrival. */
  #resolve(changed: readonly number[]): void {
    const pending = this.#rowsOf(PENDING).sort(([, a], [, b]) => a.time - b.time);
    const group = new Set(changed);
    for (const txn of group) for (const [other] of pending) if (this.#areRivals(txn, other)) group.add(other);
    const pool = new Map<number, Row>();
    for (const [txn, row] of pending.filter(([each]) => group.has(each))) {
      const rival = [...pool.keys()].find((other) => this.#haveSame('origin', txn, other));
      const isOutbid = rival !== undefined && this.#feeOf(rival) > this.#feeOf(txn);
      if (this.#mined.filter((other) => this.#exclude(txn, other)).length > 1) this.#seen.add('ruled out by two');
      const winner = this.#minedRival(txn) ?? (isOutbid ? rival : null);
      if (winner !== null) {
        this.#replace(row, winner);
        continue;
      }
      for (const [other, replaced] of pool) {
        if (!this.#areRivals(txn, other)) continue;
        if (other !== rival) this.#seen.add('replaced for the payer');
        this.#replace(replaced, txn);
        pool.delete(other);
      }
      pool.set(txn, row);
    }
    for (const winner of pool.keys()) {
      for (const [other, row] of this.#rowsOf(REPLACED, REPLACED_AND_DROPPED)) {
        if (!this.#haveSame('origin', winner, other)) continue;
        row.by = this.#minedRival(other) ?? winner;
        if (row.by !== winner) this.#seen.add('ruled out by the chain, beside a pending rival');
      }
    }
  }

  /** Drops a row that the node dropped. */
  #dropRow(row: Row, { state, by }: Pick<Row, 'state' | 'by'>): void {
    if (row.state === PENDING) Object.assign(row, { state: state === REPLACED ? REPLACED_AND_DROPPED : state, by });
    else row.state = REPLACED_AND_DROPPED;
  }

  /** Announces a mined transaction. @returns whether that changes something */
  #announceMined(txn: number, receipt: Receipt): boolean {
    if (this.#receipts.has(txn)) return this.#drops.delete(txn);
    this.#receipts.set(txn, receipt);
    return true;
  }

  /** Whether another announcement of a replaced transaction changes nothing. */
  #staysReplaced(txn: number): boolean {
    const pending = this.#rowsOf(PENDING).filter(([other]) => this.#haveSame('origin', txn, other));
    const isOutbid = pending.some(([other]) => this.#feeOf(other) >= this.#feeOf(txn));
    return isOutbid || this.#minedRival(txn) !== null;
  }

  /** @returns whether something changed */
  announce(txns: readonly number[], time: number): boolean {
    const [receipt, changed] = [{ time, height: this.chain.length }, new Set<number>()];
    for (const txn of txns) {
      const row = this.rows.get(txn);
      if (this.#mined.includes(txn)) {
        if (this.#announceMined(txn, receipt)) changed.add(txn);
      } else if (row === undefined) {
        const drop = this.#drops.get(txn);
        this.rows.set(txn, { state: PENDING, by: null, ...receipt });
        this.#drops.delete(txn);
        changed.add(txn);
        if (drop === undefined) continue;
        const isLate = drop.height < receipt.height - 10;
        this.#seen.add(isLate ? 'announced long after its drop' : 'announced after its drop');
        if (!isLate) this.#dropRow(this.rows.get(txn)!, drop);
      } else if (row.state < PENDING && !(row.state === REPLACED && this.#staysReplaced(txn))) {
        Object.assign(row, { state: PENDING, by: null, ...receipt });
        changed.add(txn);
      }
    }
    this.#resolve([...changed].filter((txn) => this.rows.get(txn)?.state === PENDING));
    return changed.size > 0;
  }

  /** @returns whether something changed */
  drop(txns: readonly number[], state: number, by: number | null): boolean {
    const unknown = txns.filter((txn) => !this.rows.has(txn) && !this.#drops.has(txn));
    for (const txn of unknown) this.#drops.set(txn, { state, by, height: this.chain.length });
    const dropped = this.#rowsOf(PENDING, REPLACED).filter(([txn]) => txns.includes(txn));
    for (const [, row] of dropped) this.#dropRow(row, { state, by });
    const successor = by === null ? undefined : this.rows.get(by);
    if (dropped.length > 0 && by !== null && successor?.state === REPLACED) {
      this.#seen.add('back as a replacement');
      Object.assign(successor, { state: PENDING, by: null });
      this.#resolve([by]);
    }
    return unknown.length + dropped.length > 0;
  }

  /** A block arrives, of any branch. */
  collect(now: number): void {
    if (this.chain.length === 0) return;
    for (const [, row] of this.#rowsOf(PENDING)) if (row.time <= now - LIFETIME) row.state = COLLECTED;
  }

  /** The blocks above a height leave the chain, and others join it. */
  moveTo(branch: readonly ModelBlock[], height: number): void {
    const before = this.chain.length;
    const [back, restored]: [number[], [number, Row][]] = [[], []];
    for (const { included, burnTime } of this.chain.splice(height).reverse()) {
      for (const txn of included) {
        const receipt = this.#receipts.get(txn) ?? { time: burnTime, height: before };
        this.#receipts.delete(txn);
        this.rows.set(txn, { state: PENDING, by: null, ...receipt });
        const rivals = this.#rowsOf(REPLACED).filter(([other]) => this.#exclude(txn, other));
        for (const [, row] of rivals) Object.assign(row, { state: PENDING, by: null });
        back.push(txn, ...rivals.map(([other]) => other));
        restored.push(...rivals);
      }
    }
    for (const txn of back) {
      const drop = this.#drops.get(txn);
      if (drop !== undefined) this.#dropRow(this.rows.get(txn)!, drop);
      if (this.#drops.delete(txn)) this.#seen.add('orphaned after its drop');
    }
    this.chain.push(...branch);
    const joined = branch.flatMap(({ included }) => included);
    for (const txn of joined) {
      const row = this.rows.get(txn);
      if (row !== undefined) this.#receipts.set(txn, { time: row.time, height: row.height });
      this.rows.delete(txn);
    }
    for (const [txn, row] of this.#rowsOf(PENDING, REPLACED, REPLACED_AND_DROPPED)) {
      if (joined.some((other) => this.#exclude(txn, other))) this.#replace(row, this.#minedRival(txn)!);
    }
    this.#resolve(back.filter((txn) => this.rows.get(txn)?.state === PENDING));
    if (before > height && this.#rowsOf(REPLACED).some(([, { by }]) => !this.#isHere(by!))) {
      this.#seen.add('stays replaced at a fork, by one that was dropped');
    }
    if (restored.some(([, { state }]) => state === PENDING)) this.#seen.add('back, as its rival left the chain');
  }
}

const MICROSECONDS = 1_000_000;
const ROWS = `
  SELECT '0x' || lower(hex(tx_id)) AS id, state, '0x' || lower(nullif(hex(replaced_by_tx_id), '')) AS "by",
         received_at / ${MICROSECONDS} AS seconds, receipt_block_height AS height,
         (SELECT count(*) FROM pending_principals p WHERE p.tx_id = m.tx_id AND p.received_at = m.received_at) AS lists
    FROM mempool_transactions m ORDER BY rowid`;

const SUMMARY = `
  SELECT (SELECT count(*) FROM pending_principals) AS listed, mempool_version AS version FROM progress`;

/** Recounts of the mempool. */
const counts = recounts.filter(({ name }) => /pending|mempool/.test(name));

test("after random announcements, drops, blocks and forks, the mempool equals a node's, without transactions that the chain rules out", () => {
  const seen = new Seen({
    ...Object.fromEntries([PENDING, REPLACED, COLLECTED, ...Object.values(reasons)].map((state) => [state, 1])),
    'replaced for the payer': 5,
    'announced after its drop': 5,
    'announced long after its drop': 1,
    'orphaned after its drop': 2,
    'back as a replacement': 2,
    'back, as its rival left the chain': 2,
    'back on an orphaned branch': 5,
    'ruled out by two': 3,
    'ruled out by the chain, beside a pending rival': 1,
    'stays replaced at a fork, by one that was dropped': 2,
  });
  assertProperty(
    fc.property(spendings, steps, (payments, script) => {
      using open = openNew();
      using db = new Database(indexPath(open.directory), { readonly: true });
      const [rowsQuery, summaryQuery] = [db.query(ROWS), db.query<{ listed: number; version: number }, []>(SUMMARY)];
      const model = new MempoolModel(payments, seen);
      const { chain } = model;
      const known = (txns: readonly number[]) => [...new Set(txns.map((txn) => txn % payments.length))];
      const pick = (txns: readonly number[]) => txns.map((txn) => payments[txn]!.transaction);
      const idOf = (txn: number | null) => (txn === null ? null : payments[txn]!.transaction.id);
      let [time, label, isCommitted, before] = [START, 0, true, { pending: '[]', version: 0 }];
      /** The branch that the last fork orphaned, above a height. */
      let orphaned: { height: number; branch: ModelBlock[] } = { height: 0, branch: [] };

      const post = ({ path, text }: ReceivedEvent, isChanging: boolean) => {
        const outcome = open.ingest.apply({ path, text, receivedAt: time * MICROSECONDS });
        expect(outcome).toBe(isChanging ? 'applied' : 'repeated');
      };
      const blockOn = (parent: ModelBlock | undefined, included: number[]): ModelBlock => {
        const [id, name, burnTime] = [hashOf(`operation ${label}`), `block ${label++}`, time - 600];
        // An operation on Bitcoin spends no nonce of its sender.
        const sent = { sender: alice.address, recipient: bob.address, amount: '1', memo: '' };
        const made = block(
          parent?.made ?? null,
          name,
          [...pick(included), receipt({ id, raw: '0x00' }, included.length)],
          { burn_block_time: burnTime, events: [nodeEvent(id, 0, 'stx_transfer_event', sent)] },
        );
        return { made, included, burnTime };
      };
      /** Makes a branch above a height the longest one. @param sent how many of its blocks the index has */
      const moveTo = (height: number, branch: readonly ModelBlock[], sent = 0) => {
        const blocks = [...branch];
        while (height + blocks.length <= chain.length) blocks.push(blockOn(blocks.at(-1) ?? chain[height - 1], []));
        for (const [index, { made }] of blocks.slice(sent).entries()) {
          if (index > 0 && isCommitted) compare();
          model.collect(time);
          post(made.event, true);
        }
        if (height < chain.length) orphaned = { height, branch: chain.slice(height) };
        model.moveTo(blocks, height);
      };
      const compare = () => {
        open.ingest.commit();
        const rows = [...model.rows].map(([txn, { state, by, time: seconds, height }]) => {
          seen.add(`${state}`);
          const lists = state === PENDING ? payments[txn]!.parties : 0;
          return { id: idOf(txn), state, by: idOf(by), seconds, height, lists };
        });
        expect(rowsQuery.all()).toEqual(rows);
        const { listed, version } = summaryQuery.get()!;
        expect(listed).toBe(rows.reduce((sum, { lists }) => sum + lists, 0));
        const pending = JSON.stringify(rows.filter(({ state }) => state === PENDING));
        if (pending !== before.pending) expect(version).toBeGreaterThan(before.version);
        before = { pending, version };
      };

      for (const [{ wait, commits }, step] of script) {
        time += wait;
        isCommitted = commits;
        if (step.do === 'announce') {
          const txns = known(step.which);
          post(announcement(pick(txns)), model.announce(txns, time));
        } else if (step.do === 'drop') {
          const by = step.by === null ? null : step.by % payments.length;
          const txns = known(step.which).filter((txn) => txn !== by);
          const replacement = by === null ? null : payments[by]!.transaction;
          post(drop(pick(txns), step.reason, replacement), model.drop(txns, reasons[step.reason], by));
        } else if (step.do === 'mine') {
          moveTo(chain.length, [blockOn(chain.at(-1), model.selectFitting(known(step.which), chain.length))]);
          for (let more = step.more; more > 0; more--) moveTo(chain.length, []);
        } else if (step.do === 'fork') {
          const height = Math.max(0, chain.length - step.depth);
          moveTo(height, [blockOn(chain[height - 1], model.selectFitting(known(step.which), height))]);
        } else if (orphaned.branch.length > 0) {
          const { height, branch } = orphaned;
          seen.add('back on an orphaned branch');
          moveTo(height, branch, branch.length);
        }
        if (isCommitted) compare();
      }
      compare();
      expect(counts.flatMap(({ find }) => [...find(db)])).toEqual([]);
    }),
    { seen, cases: 48 },
  );
});
