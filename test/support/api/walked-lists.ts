/** Every list of the API that has cursors, from the table of its routes, over a simulated chain that grows. */

import { Database } from 'bun:sqlite';
import { clarity } from '../../../src/codec/clarity-encode.ts';
import { toHex } from '../../../src/codec/hex.ts';
import { SimulatedChain } from '../../../src/devnet/chain.ts';
import { networks } from '../../../src/devnet/network.ts';
import { type Account, accounts } from '../../../src/devnet/wallet.ts';
import type { HookReader } from '../../../src/hooks/routes/family.ts';
import { type HookApi, hookRoutes, management } from '../../../src/hooks/routes/hooks.ts';
import { serializedBackfill, serializedDelivery } from '../../../src/hooks/routes/schemas.ts';
import type { Chainhooks } from '../../../src/hooks/service.ts';
import type { Route } from '../../../src/http/route.ts';
import { indexPath } from '../../../src/store/files/database.ts';
import { hookBackfills } from '../../../src/store/hooks/backfills.ts';
import { type DeliveryFilter, deliveryLog } from '../../../src/store/hooks/delivery-log.ts';
import { hookDeliveries } from '../../../src/store/hooks/outbox.ts';
import { hookRecords } from '../../../src/store/hooks/records.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import type { Cursor, Page } from '../../../src/store/model/page.ts';
import { openSnapshots, type Snapshots } from '../../../src/store/read/snapshots.ts';
import { inserter } from '../../../src/store/rows/table.ts';
import { hookDeliveriesTable } from '../../../src/store/rows/tables.ts';
import { type OpenIngest, openNew, received } from '../data/ingest.ts';
import { bnsOperated } from '../events/bns.ts';
import {
  alice,
  announcement,
  block,
  bob,
  call,
  drop,
  inMicroblock,
  type MadeBlock,
  receipt,
  START,
  type Transaction,
  transfer,
} from '../events/handmade.ts';
import { operated } from '../events/names.ts';
import { BOOT, bonds, burnBlock, keyOf, type PoxEvent, p, rewardSet, stacked, u } from '../events/pox.ts';
import { appOf, routesOf } from './app.ts';
import { oneOf } from './random-urls.ts';

const VERSION = 'stackside v0.0.0 (test:test)';
const BITCOIN = 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss';
const OTHER_BITCOIN = 'mk4zAE1iVWf5PJAgeX83rSXnzF5zQBiqf1';
const HOOK = 1;
const CONSUMER = 'default';
const HOOK_UUID = '01234567-89ab-cdef-0123-456789abcdef';

/** Parameter values for things that a short chain lacks: their lists have no rows. */
const none: Readonly<Record<string, string>> = {
  asset_identifier: 'ST000000000000000000002AMW42H.none::none',
  value: '0x00',
  bond_index: '0',
  cycle_number: '1',
  pool_principal: 'ST000000000000000000002AMW42H',
  address: 'mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8',
  burnchain_address: 'mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8',
  signer_key: `0x02${'00'.repeat(32)}`,
};

/** A page in the order of its list, without its envelope. */
export interface WalkedPage {
  items: string[];
  total: number | null;
  current: string | null;
  next: string | null;
  previous: string | null;
}

/** A row of a list: its content, and its sort key, which stays the same while the row keeps its position. */
export interface WalkedRow {
  key: string;
  text: string;
}

/** The list that a route returns, with values for its parameters. */
export interface WalkedList {
  route: string;
  /** Path and query without `limit`, `cursor` and `offset`. */
  target: string;
}

/** An optional parameter of a list with offsets: one word of several, or null if it takes a subject. */
type Argument = readonly [name: string, word: string | null];

/** A list that is read by offset. */
export interface OffsetList extends WalkedList {
  /** The route, with the optional parameters of the request. */
  name: string;
  limit: { name: string; minimum: number; maximum: number; fallback: number };
  offset: { name: string; maximum: number };
}

/** A list that has an ascending and a descending order. */
export interface OrderedList extends WalkedList {
  /** Null for a list that is walked by cursor. */
  byOffset: OffsetList | null;
  /** Whether it takes a window of heights and times. */
  takesWindow: boolean;
}

/** Some rows of a list with offsets, with the page's totals if the answer has them. */
export interface OffsetPage {
  items: string[];
  limit?: number;
  offset?: number;
  total?: number;
}

interface Schema {
  type?: string;
  minimum?: number;
  maximum?: number;
  default?: number;
  const?: string;
  anyOf?: readonly Schema[];
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: Schema;
}

const parametersOf = ({ detail }: Route): readonly Parameter[] =>
  (detail.parameters as readonly Parameter[]).filter((item) => item.in !== 'header');

/** Returns all routes, including the routes of chainhooks. */
const routeTable = (): readonly Route[] => [...routesOf(VERSION), ...hookRoutes(VERSION, null)];

const propertiesOf = (route: Route): Readonly<Record<string, unknown>> => {
  const answer = route.detail.responses[200]?.content?.['application/json']?.schema;
  return (answer?.properties as Record<string, unknown> | undefined) ?? {};
};

/** Routes that take a cursor. */
export const cursorRoutes = (): readonly Route[] =>
  routeTable().filter(({ detail }) => detail.parameters.some(({ name }) => name === 'cursor'));

/** The end of an offset's name. The name starts with the part of the answer that contains the offset. */
const OFFSET = /offset$/;

/** Returns the words that a parameter accepts, `true` for a switch, and null if the parameter names a subject. */
const wordsOf = ({ type, anyOf }: Schema): (string | null)[] =>
  type === 'boolean' ? ['true'] : (anyOf?.map((item) => item.const ?? null) ?? [null]);

/** Reports whether a list has both orders. */
function takesOrder(route: Route): boolean {
  const order = parametersOf(route).find(({ name }) => name === 'order');
  const words = order === undefined ? [] : wordsOf(order.schema);
  return words.includes('asc') && words.includes('desc');
}

/** Names of the parameters that choose the sort key of a list. */
const SORTED_BY = /^(sort|order)_by$/;

/** Returns the routes whose lists have both orders. */
export const orderedRoutes = (): readonly Route[] => routeTable().filter(takesOrder);

interface OffsetKind {
  route: Route;
  name: string;
  args: readonly Argument[];
}

/** Every route that takes an offset, without any of its optional parameters and with each of them. */
export function offsetKinds(): OffsetKind[] {
  return routeTable().flatMap((route) => {
    const parameters = parametersOf(route);
    if (route.method !== 'GET' || !parameters.some(({ name }) => OFFSET.test(name))) return [];
    const required = (oneOf[route.path] ?? []).map((name): Argument => [name, null]);
    const others = parameters
      .filter(
        (arg) => !arg.required && !/(limit|offset|cursor)$/.test(arg.name) && !oneOf[route.path]?.includes(arg.name),
      )
      .flatMap(({ name, schema }) => wordsOf(schema).map((word): Argument => [name, word]));
    const kinds = [
      ...(required.length === 0 ? [[]] : required.map((item) => [item])),
      ...others.map((item) => [...required.slice(0, 1), item]),
    ];
    return kinds.map((args) => ({
      route,
      args,
      name: [route.path, ...args.map(([name, word]) => (word === null ? name : `${name} ${word}`))].join(' '),
    }));
  });
}

/** Routes of v3 that answer a page. */
export const pageRoutes = (): readonly Route[] =>
  routeTable().filter((route) => route.path.startsWith('/extended/v3/') && 'results' in propertiesOf(route));

/** Chooses the subjects of lists by the length of their lists. */
function subjectsOf(directory: string): (path: string, name: string) => string {
  using db = new Database(indexPath(directory), { readonly: true });
  const top = (sql: string): string => String(db.query<{ it: unknown }, []>(`${sql} LIMIT 1`).get()?.it ?? '');
  const accountWith = (column: string) =>
    top(`SELECT address AS it FROM accounts ORDER BY ${column} DESC, transactions DESC, address`);
  const ft = top('SELECT identifier AS it FROM ft_balances GROUP BY asset_id ORDER BY count(*) DESC, 1');
  const nft = 'FROM nft_instances i JOIN assets a ON a.id = i.asset_id ORDER BY i.events DESC, i.value';
  const counterparty = (column: string, table: string) =>
    principalIn(`${table} t JOIN principals p ON p.id = t.${column} GROUP BY 1 ORDER BY count(*) DESC, 1`);
  const principalIn = (rest: string) => top(`SELECT p.address AS it FROM ${rest}`);
  const ids = (rest: string): string[] =>
    db
      .query<{ id: string }, []>(`SELECT ${rest}`)
      .all()
      .map(({ id }) => id);
  const stackers =
    'FROM cycle_stackers WHERE signer_key IS NOT NULL GROUP BY cycle, signer_key ORDER BY count(*) DESC, cycle, signer_key';
  const shares = `staking_shares s JOIN principals p ON p.id = s.signer_id WHERE s.cycle >= 0
    GROUP BY p.address, s.cycle ORDER BY count(*) DESC, s.cycle, p.address`;
  const namedInEvents = `events e JOIN principals p ON p.id IN (e.sender_id, e.recipient_id)
    JOIN transactions t ON t.position = e.position GROUP BY p.id, t.position ORDER BY count(*) DESC, 1`;
  /** Transactions that change the most assets. */
  const changing = ids(`'0x' || lower(hex(t.tx_id)) AS id FROM events e JOIN transactions t ON t.position = e.position
    WHERE e.asset_id IS NOT NULL GROUP BY e.position ORDER BY count(DISTINCT e.asset_id) DESC, e.position LIMIT 9`);
  const [transaction = ''] = ids("'0x' || lower(hex(tx_id)) AS id FROM transactions ORDER BY event_count DESC LIMIT 1");
  /** Contracts that logged, the busiest first. */
  const logging = ids('key AS id FROM counters WHERE kind = 6 ORDER BY count DESC, 1 LIMIT 20');
  const currentStakes = `stakes s JOIN principals p ON p.id = s.signer_id
    WHERE s.current = 1 GROUP BY 1 ORDER BY count(*) DESC, 1`;
  const currentBonds = `bond_positions b JOIN principals p ON p.id = b.staker_id
    WHERE b.current = 1 GROUP BY 1 ORDER BY count(*) DESC, 1`;
  const pending = 'pending_counts c JOIN principals p ON p.id = c.principal_id ORDER BY c.transactions DESC, 1';
  const most = (column: string, table: string) =>
    top(`SELECT ${column} AS it FROM ${table} GROUP BY 1 ORDER BY count(*) DESC, 1`);
  const values: readonly (readonly [path: RegExp, name: string, value: string])[] = [
    [/cycle_number}\/stakers/, 'principal', principalIn(shares)],
    [/cycle_number}\/stakers/, 'cycle_number', top(`SELECT s.cycle AS it FROM ${shares}`)],
    [/staking\/signers/, 'principal', principalIn(currentStakes)],
    [/staking-rewards/, 'principal', counterparty('stacker_id', 'cycle_stackers')],
    [/dropped-transactions/, 'principal', counterparty('sender_id', 'mempool_transactions')],
    [/staking\/bonds/, 'principal', principalIn(currentBonds)],
    [
      /balances\/ft|transfers\/ft/,
      'principal',
      top('SELECT address AS it FROM ft_balances ORDER BY transfers DESC, 1'),
    ],
    [/balance-changes/, 'principal', accountWith('stx_outbound')],
    [/balances\/nft/, 'principal', accountWith('nfts')],
    [/stx_inbound/, 'principal', counterparty('recipient_id', 'transactions')],
    [/inbound/, 'principal', accountWith('stx_inbound')],
    [/outbound/, 'principal', accountWith('stx_outbound')],
    [/mempool/, 'principal', principalIn(pending)],
    [/tx_id}.events/, 'principal', principalIn(namedInEvents)],
    [/./, 'principal', accountWith('transactions')],
    [/nft/, 'asset_identifier', top(`SELECT a.identifier AS it ${nft}`)],
    [/./, 'asset_identifier', ft],
    [/./, 'value', top(`SELECT '0x' || lower(hex(i.value)) AS it ${nft}`)],
    [/principal}\/balance-changes/, 'tx_id', changing.join(',')],
    [/balance-changes/, 'tx_id', changing[0] ?? ''],
    [/tx_id}.events/, 'tx_id', top(`SELECT '0x' || lower(hex(t.tx_id)) AS it FROM ${namedInEvents}`)],
    [/./, 'tx_id', transaction],
    [/pox-transactions/, 'height_or_hash', most('height', 'pox_transactions')],
    [/burn-blocks/, 'height_or_hash', top('SELECT height AS it FROM anchor_burn_blocks ORDER BY blocks DESC')],
    [/./, 'height_or_hash', top('SELECT height AS it FROM blocks ORDER BY transactions DESC, height')],
    [/allowlist/, 'bond_index', most('bond_index', 'bond_allowances')],
    [/./, 'bond_index', most('bond_index', 'bond_registrations')],
    [/stackers/, 'cycle_number', top(`SELECT cycle AS it ${stackers}`)],
    [/./, 'cycle_number', top('SELECT cycle AS it FROM reward_cycles ORDER BY signers DESC')],
    [/./, 'tenure_height', most('tenure_height', 'blocks')],
    [/v1\/logs/, 'contract_id', logging.join(',')],
    [/./, 'deployer', (logging[0] ?? '').split('.')[0] ?? ''],
    [/./, 'contract_id', top('SELECT key AS it FROM counters WHERE kind = 6 ORDER BY count DESC, 1')],
    [/metadata/, 'name', 'a'],
    [/metadata/, 'symbol', 'a'],
    [/metadata/, 'address', top('SELECT address AS it FROM token_contracts ORDER BY 1')],
    [/metadata/, 'address', 'ST000000000000000000002AMW42H'],
    [/mempool/, 'type', 'token_transfer'],
    [/tx.events/, 'type', 'fungible_token_asset'],
    [/./, 'type', 'contract_call'],
    [/./, 'uuid', HOOK_UUID],
    [/./, 'block_hash', top("SELECT '0x' || lower(hex(block_hash)) AS it FROM blocks ORDER BY transactions DESC")],
    [/delegations/, 'height', top('SELECT height AS it FROM blocks ORDER BY height DESC')],
    [/./, 'height', top('SELECT height AS it FROM blocks ORDER BY transactions DESC')],
    [/./, 'until_block', top('SELECT height AS it FROM blocks ORDER BY height DESC')],
    [/./, 'after_block', '1'],
    [/./, 'start_time', '1'],
    [/./, 'end_time', '4000000000'],
    [/./, 'nonce', '0'],
    [/./, 'function_name', top('SELECT key AS it FROM counters WHERE kind = 2 ORDER BY count DESC')],
    [/./, 'trait_abi', '{"functions":[]}'],
    [/./, 'token', ft],
    [/./, 'asset_identifiers', top(`SELECT a.identifier AS it ${nft}`)],
    [/mempool/, 'recipient_address', counterparty('recipient_id', 'mempool_transactions')],
    [/mempool/, 'address', counterparty('sender_id', 'mempool_transactions')],
    [/mempool/, 'sender_address', counterparty('sender_id', 'mempool_transactions')],
    [/./, 'from_address', counterparty('sender_id', 'transactions')],
    [/./, 'to_address', counterparty('recipient_id', 'transactions')],
    [/tx.events/, 'address', accountWith('transactions')],
    [/./, 'pox', 'pox4'],
    [/./, 'pool_principal', counterparty('pool_id', 'delegations')],
    [/rewards/, 'address', most('recipient', 'burn_rewards')],
    [/slot/, 'address', most('address', 'burn_slot_holders')],
    [/./, 'burnchain_address', most('recipient', 'pox_transactions')],
    [/./, 'signer_key', top(`SELECT '0x' || lower(hex(signer_key)) AS it ${stackers}`)],
  ];
  return (path, name) => {
    const fitting = values.filter(([paths, named]) => named === name && paths.test(path)).map(([, , value]) => value);
    const value = [...fitting, none[name]].find(Boolean);
    if (value === undefined) throw new Error(`${path}: no value for ${name}; a new list needs one here`);
    return value;
  };
}

type SubjectOf = ReturnType<typeof subjectsOf>;

/** Returns the list of a route, with values for its parameters. */
function listOf(route: Route, subjectOf: SubjectOf): WalkedList {
  const { path } = route;
  const query = new URLSearchParams();
  let target = path;
  for (const { name, in: place, required } of parametersOf(route)) {
    if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(subjectOf(path, name)));
    else if (required) query.set(name, subjectOf(path, name));
  }
  return { route: path, target: `${target}?${query}` };
}

/** The rows of a page: its list, or the events of a transaction, also in an answer for several ids. */
function rowsIn(body: Record<string, unknown>): unknown[] {
  const rows = body.results ?? body.events;
  if (rows !== undefined) return rows as unknown[];
  const [answer] = Object.values(body) as { result: Record<string, unknown> }[];
  return rowsIn(answer!.result);
}

/** The lists of hooks, read from a separate index, whose deliveries come and go. */
class HookLists implements Disposable {
  readonly #open = openNew();
  readonly #db = new Database(indexPath(this.#open.directory));
  readonly #log = deliveryLog(this.#db);
  readonly #jobs = hookBackfills(this.#db);
  readonly #records = hookRecords(this.#db);
  #made = 0;

  readonly #managed = management({ pausedReason: () => null } as unknown as Chainhooks, () => {
    throw new Error('no read of chainhooks');
  });
  readonly #reader = {
    hooks: { records: this.#records, deliveries: hookDeliveries(this.#db) },
    height: () => 0,
  } as unknown as HookReader;

  /** The chainhooks interface that the routes call. */
  readonly api = {
    access: { callerOf: () => ({ consumer: CONSUMER, isOperator: true }) },
    ownerOf: () => CONSUMER,
    management: {
      page: (_read: HookReader, consumer: string, limit: number, offset: number, failing: boolean) =>
        this.#managed.page(this.#reader, consumer, limit, offset, failing),
    },
    deliveries: {
      page: (
        _read: unknown,
        _consumer: string,
        _uuid: string,
        filter: DeliveryFilter,
        limit: number,
        cursor: Cursor | null,
      ) =>
        presentPage(this.#log.page(HOOK, filter, limit, cursor), (delivery) =>
          serializedDelivery(delivery, { lastAttempt: undefined, underWay: false }),
        ),
    },
    backfills: {
      page: (_read: unknown, _consumer: string, _uuid: string, limit: number, cursor: Cursor | null) =>
        presentPage(this.#jobs.page(HOOK, limit, cursor), serializedBackfill),
    },
  } as unknown as HookApi;

  /** Makes deliveries and a backfill, and forgets the oldest. */
  goOn(): void {
    const insert = inserter(this.#db, hookDeliveriesTable);
    for (let i = 0; i < 4; i++) {
      this.#made += 1;
      const hook = this.#records.add({
        uuid: `hook_${this.#made}`,
        consumer: CONSUMER,
        createdAt: this.#made,
        definition:
          '{"name":"n","version":"1","chain":"stacks","network":"testnet","filters":{"events":[]},"action":{"type":"http_post","url":"https://127.0.0.1/"}}',
        url: 'https://127.0.0.1/',
      });
      if (i > 0) this.#records.setStatus(hook, 'interrupted', 'it is gone');
      insert({
        webhook_id: `evt_${this.#made}`,
        hook_id: HOOK,
        queue: 0,
        reason: 0,
        sequence: this.#made,
        state: this.#made % 3,
        created_at: this.#made,
        next_attempt_at: null,
        delivered_at: null,
        tried_since: null,
        attempts: 0,
        blocks: '{"apply":[],"rollback":[]}',
        min_height: this.#made,
        max_height: this.#made,
        body_bytes: 0,
        body_sha256: new Uint8Array(32),
        backfill_id: null,
        problem: null,
      });
      this.#jobs.add({ uuid: `job_${this.#made}`, hookId: HOOK, dryRun: false, from: 1, to: this.#made }, this.#made);
    }
    this.#db.run('DELETE FROM hook_deliveries WHERE id = (SELECT min(id) FROM hook_deliveries)');
  }

  [Symbol.dispose](): void {
    this.#db.close();
    this.#open[Symbol.dispose]();
  }
}

const presentPage = <T, R>({ items, ...page }: Page<T>, item: (row: T) => R): Page<R> => ({
  ...page,
  items: items.map(item),
});

/** Returns the key in a cursor's text, which follows the side and the checksum. */
const keyIn = (cursor: string | null): string =>
  Buffer.from(cursor ?? '', 'base64url')
    .subarray(5)
    .toString();

/** Returns the cursor with another key of the same length and a correct checksum: a CRC isn't a signature. */
export function forged(cursor: string, key: string): string {
  const bytes = Buffer.from(cursor, 'base64url');
  const json = bytes.subarray(5);
  const other = Buffer.from(key);
  if (other.length !== json.length) throw new Error('the key must have as many bytes');
  const sum = (bytes.readUInt32BE(1) ^ Bun.hash.crc32(json) ^ Bun.hash.crc32(other)) >>> 0;
  bytes.writeUInt32BE(sum, 1);
  other.copy(bytes, 5);
  return bytes.toString('base64url');
}

/** A chain that grows block by block. */
export interface GrowingChain {
  /** The first events, and the index block hash of the parent of block 1. */
  readonly begin: { events: readonly ReceivedEvent[]; hash: string };
  /** One more block on another. */
  mine(parent: string): { events: readonly ReceivedEvent[]; hash: string };
}

/** The chain of a simulated node, with a few events of every kind. */
export function simulatedChain(seed: number): GrowingChain {
  const chain = new SimulatedChain({ seed, accounts: 8, staking: 40 });
  return {
    begin: { events: [received(chain.genesis())], hash: chain.genesisHash },
    mine(parent) {
      const { events, indexBlockHash } = chain.mine(parent, { transactions: 5 });
      return { events: events.map(received), hash: indexBlockHash };
    },
  };
}

const users = accounts('crowded', 'user', 8, networks.testnet);

/** Events of a block, with their types. */
type TypedEvent = readonly [type: string, body: object];

const lock = (amount: number) => ({
  'lock-amount': u(amount),
  'lock-period': u(1),
  'start-burn-height': u(100),
  'unlock-burn-height': u(140),
});
const cycle = (n: number) => ({ 'start-cycle-id': u(n), 'end-cycle-id': clarity.some(u(n + 1)) });

/** Returns events of pox-4 stackers, all in one pool, which commits their locked STX to one signer. */
function stacking(n: number): PoxEvent[] {
  const pool = alice.address;
  return [
    ...users.flatMap(({ address }, index) => [
      stacked('pox-4', 'delegate-stx', address, {
        'amount-ustx': u(100 + index),
        'delegate-to': p(pool),
        'unlock-burn-height': clarity.none(),
      }),
      stacked('pox-4', 'delegate-stack-stx', address, { ...lock(index), delegator: p(pool), ...cycle(n) }),
    ]),
    // One of them also stacks solo, in all cycles so far.
    stacked('pox-4', 'stack-stx', users[0]!.address, {
      ...lock(1),
      'start-cycle-id': u(0),
      'end-cycle-id': clarity.some(u(50)),
    }),
    stacked('pox-3', 'stack-stx', users[0]!.address, { ...lock(1), 'lock-period': u(6) }),
    stacked('pox-4', 'stack-aggregation-commit', pool, {
      'reward-cycle': u(n),
      'amount-ustx': u(1),
      'signer-key': clarity.buffer(keyOf(1)),
      ...cycle(n),
    }),
  ];
}

/** Returns the payouts of a Bitcoin block to some addresses, several of them to the same address. */
const paid = (n: number) =>
  [BITCOIN, OTHER_BITCOIN, BITCOIN, BITCOIN].map((address, index) => [address, 10 * n + index] as const);

/** Returns the events of each transaction in a block of a crowded chain. @param n counts the blocks of all forks */
function crowdedEvents(n: number, isFirst: boolean): TypedEvent[][] {
  const [holder, other] = [alice.address, bob.address];
  const contract = `${holder}.crowd`;
  const value = (id: number) => ({ asset_identifier: `${contract}::piece`, raw_value: toHex(u(id)) });
  const nft = (sender: string, recipient: string): TypedEvent => [
    'nft_transfer_event',
    { ...value(0), sender, recipient },
  ];
  const ft = (name: string, type: 'mint' | 'transfer', parties: object, amount: number): TypedEvent => [
    `ft_${type}_event`,
    { asset_identifier: `${contract}::${name}`, ...parties, amount: String(amount) },
  ];
  const print = ({ contract: by, value: printed }: PoxEvent): TypedEvent => [
    'contract_event',
    { contract_identifier: by, topic: 'print', raw_value: toHex(printed) },
  ];
  const user = (index: number) => users[index % users.length]!.address;
  const registered = isFirst ? users : users.slice(0, 1);
  return [
    // Tokens of one kind after the other for one holder, and one of them for everybody.
    [
      ft(`token-${n}`, 'mint', { recipient: holder }, 10),
      ...[1, 2, 3, 4, 5, 6, 7].map((kind) => ft(`kind-${kind}`, 'mint', { recipient: holder }, kind)),
      ft('token', 'mint', { recipient: holder }, 90),
      ...[1, 2, 3].map((step) => ft('token', 'transfer', { sender: holder, recipient: user(n + step) }, step)),
    ],
    [
      ...(isFirst ? [['nft_mint_event', { ...value(0), recipient: holder }] as const] : []),
      ['nft_mint_event', { ...value(n + 1), recipient: holder }],
      ...(isFirst ? [1, 2, 3, 4, 5, 6, 7, 8] : []).map(
        (kind): TypedEvent => [
          'nft_mint_event',
          { asset_identifier: `${contract}::kind-${kind}`, raw_value: toHex(u(kind)), recipient: holder },
        ],
      ),
      nft(holder, other),
      nft(other, holder),
    ],
    // Balances of many change in one transaction.
    [
      ['stx_mint_event', { recipient: holder, amount: '1000' }],
      ...users.map(
        ({ address }, index): TypedEvent => [
          'stx_transfer_event',
          { sender: holder, recipient: address, amount: `${index + 1}` },
        ],
      ),
    ],
    // A bond for each block, the first with several registrations; and signers, one of which all stakers use.
    [
      bonds.setup(n),
      ...registered.map(({ address }) => bonds.allow(n, address)),
      ...registered.map(({ address }) => bonds.register(n, address, `${holder}.manager`, 1_000 + n)),
    ].map(print),
    n === 2 ? stacking(n).map(print) : [],
    bnsOperated({
      label: `name-${n}`,
      namespace: 'btc',
      operation: 'new-name',
      id: n,
      from: null,
      to: holder,
      renewalHeight: 0,
    }).events.map((event): TypedEvent => {
      const { type, ...rest } = event as { type: string } & Record<string, object>;
      return [type, rest[type]!];
    }),
    operated({ op: 'name-register', name: `name-${n}` }).events.map(
      (event): TypedEvent => ['contract_event', (event as { contract_event: object }).contract_event],
    ),
    [
      bonds.key('grant', `${holder}.manager-${n}`, keyOf(n % 200)),
      bonds.key('register', `${holder}.manager-${n}`, keyOf(n % 200)),
      bonds.stake(user(n), `${holder}.manager`, 60_000_000_000n, [8, 20], 400),
      ...registered.map(({ address }) => bonds.claim(address, null, 1, `${holder}.manager`, 8)),
    ].map(print),
  ];
}

/** A call of the contract that prints the most. */
const printing = (from: Account, nonce: number, fee: number): Transaction =>
  call(from, nonce, fee, `${BOOT}.pox-5`, 'nothing');

/** Builds a chain by hand in which every block adds to the lists that a simulated chain leaves almost empty. */
export function crowdedChain(): GrowingChain {
  const blocks = new Map<string, MadeBlock>();
  let count = 0;
  /** Transfers that wait, oldest first. */
  const waiting: Transaction[] = [];

  function mempool(): ReceivedEvent[] {
    const added = [0, 1, 2, 3].map((step) => transfer(bob, count * 4 + step, 300 + step, undefined, users[step]));
    waiting.push(...added);
    const events = [announcement(added, START + count)];
    if (count > 2) events.push(drop([waiting.shift()!], 'StaleGarbageCollect'));
    return events;
  }

  return {
    begin: { events: [], hash: '' },
    mine(parentHash) {
      const parent = blocks.get(parentHash) ?? null;
      count += 1;
      const lists = crowdedEvents(count, parent === null);
      const transactions = lists.map((_, i) => (i === 0 ? printing : transfer)(alice, count * lists.length + i, 300));
      let index = 0;
      const events = lists.flatMap((list, position) =>
        list.map(([type, body]) => ({
          txid: transactions[position]!.id,
          event_index: index++,
          committed: true,
          type,
          [type]: body,
        })),
      );
      const signers = [1, 2, 3, 4, 5, 6, 7, 8].map((key) => [keyOf(key), key, BigInt(key)] as const);
      const confirmed = { label: `confirmed ${count}`, after: null, sequence: 0, transactions: [] };
      const receipts = transactions.map((tx, i) => receipt(tx, i, i === 0 ? {} : inMicroblock(confirmed)));
      const mined = block(parent, `crowded ${count}`, receipts, {
        events,
        tenure_height: 7,
        ...rewardSet(count, signers),
      });
      blocks.set(mined.hash, mined);
      const bitcoin = burnBlock(100 + count, `${count}`, count === 1 ? null : `${count - 1}`, paid(count));
      return { events: [...mempool(), mined.event, bitcoin], hash: mined.hash };
    },
  };
}

/** The API over a chain. */
export class WalkedWorld implements Disposable {
  readonly #chain: GrowingChain;
  readonly #open: OpenIngest = openNew();
  readonly #snapshots: Snapshots;
  readonly #hooks = new HookLists();
  readonly #app: ReturnType<typeof appOf>;
  /** Index block hashes of the chain, genesis first. */
  readonly #hashes: string[];

  constructor(chain: GrowingChain, blocks: number) {
    this.#chain = chain;
    const { events, hash } = chain.begin;
    for (const event of events) this.#open.ingest.receive(event);
    this.#hashes = [hash];
    for (let i = 0; i < blocks; i++) this.mine(0);
    // A fork at each height: a sibling of the block there.
    for (const parent of this.#hashes.slice(0, -1)) {
      for (const event of chain.mine(parent).events) this.#open.ingest.apply(event);
    }
    this.#open.ingest.commit();
    this.#snapshots = openSnapshots(this.#open.directory);
    this.#app = appOf({
      snapshots: this.#snapshots,
      version: VERSION,
      log: ({ event }) => {
        throw new Error(event);
      },
      hooks: this.#hooks.api,
      openHooks: true,
    });
  }

  /** Mines on the block that is `below` blocks under the tip, until the new branch has the tip. */
  mine(below: number): void {
    const length = this.#hashes.length;
    this.#hashes.length = Math.max(1, length - below);
    do {
      const { events, hash } = this.#chain.mine(this.#hashes.at(-1) ?? '');
      for (const event of events) this.#open.ingest.apply(event);
      this.#hashes.push(hash);
    } while (this.#hashes.length <= length);
    this.#open.ingest.commit();
    this.#hooks.goOn();
  }

  /** The list of each route that takes a cursor. */
  lists(): WalkedList[] {
    const subjectOf = subjectsOf(this.#open.directory);
    return cursorRoutes().flatMap((route) => {
      const { target } = listOf(route, subjectOf);
      const subjects = oneOf[route.path]?.map((name) => `&${name}=${subjectOf(route.path, name)}`) ?? [''];
      const lists = subjects.map((subject) => ({ route: route.path, target: target + subject }));
      return lists.flatMap((list) =>
        takesOrder(route) ? [list, { ...list, target: `${list.target}&order=asc` }] : [list],
      );
    });
  }

  /** The lists of each kind by offset. */
  offsetLists(): OffsetList[] {
    const subjectOf = subjectsOf(this.#open.directory);
    return offsetKinds().map(({ route, name, args }) => {
      const { path } = route;
      const offset = parametersOf(route).find((parameter) => OFFSET.test(parameter.name))!;
      const limit = parametersOf(route).find((parameter) => parameter.name === offset.name.replace(OFFSET, 'limit'))!;
      const { minimum = 0, maximum = 0, default: fallback = 0 } = limit.schema;
      const values = args.map(([name, word]) => `&${name}=${encodeURIComponent(word ?? subjectOf(path, name))}`);
      return {
        route: path,
        target: listOf(route, subjectOf).target + values.join(''),
        name,
        limit: { name: limit.name, minimum, maximum, fallback },
        offset: { name: offset.name, maximum: offset.schema.maximum ?? Number.MAX_SAFE_INTEGER },
      };
    });
  }

  /** Returns the lists of each route that has two orders, once per sort key, without an order. */
  orderedLists(): OrderedList[] {
    const routes = new Map(orderedRoutes().map((route) => [route.path, parametersOf(route)]));
    const byCursor = this.lists().flatMap((list): OrderedList[] => {
      const parameters = routes.get(list.route);
      if (parameters === undefined || list.target.endsWith('&order=asc')) return [];
      return [{ ...list, byOffset: null, takesWindow: parameters.some(({ name }) => name === 'from_height') }];
    });
    const byOffset = this.offsetLists().flatMap((list): OrderedList[] => {
      const parameters = routes.get(list.route);
      if (parameters === undefined || list.name !== list.route) return [];
      const sorted = parameters.find(({ name }) => SORTED_BY.test(name));
      const queries = [
        '',
        ...(sorted === undefined ? [] : wordsOf(sorted.schema).map((by) => `&${sorted.name}=${by}`)),
      ];
      return queries.map((query) => {
        const target = list.target + query;
        return { route: list.route, target, byOffset: { ...list, target }, takesWindow: false };
      });
    });
    return [...byCursor, ...byOffset];
  }

  /**
   * All rows of a list, page by page.
   * @param query further parameters, each behind an `&`
   */
  async walked({ target, route, byOffset }: OrderedList, query: string, limit: number): Promise<string[]> {
    const rows: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const page: OffsetPage | WalkedPage | null =
        byOffset === null
          ? await this.page({ route, target: target + query }, limit, cursor)
          : await this.offsetPage({ ...byOffset, target: target + query }, limit, rows.length);
      rows.push(...(page?.items ?? []));
      if (page === null || !('next' in page ? page.next !== null : page.items.length === limit)) return rows;
      cursor = 'next' in page ? page.next : null;
    }
  }

  /** Returns a page of a list with offsets, or null if there is none. */
  async offsetPage(list: OffsetList, limit: number, offset: number): Promise<OffsetPage | null> {
    const target = `${list.target}&${list.limit.name}=${limit}&${list.offset.name}=${offset}`;
    const { status, body } = await this.get(target);
    if (status === 404) return null;
    if (status !== 200) throw new Error(`${target} answers ${status}: ${JSON.stringify(body)}`);
    const items = rowsIn(body).map((item) => JSON.stringify(item));
    return {
      items,
      ...Object.fromEntries(['limit', 'offset', 'total'].flatMap((key) => (key in body ? [[key, body[key]]] : []))),
    };
  }

  async get(target: string): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await this.#app.handle(new Request(`http://localhost${target}`));
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Returns a page, or null if there is no such list, for example because a fork orphaned its subject. */
  async page({ target }: WalkedList, limit: number, cursor: string | null): Promise<WalkedPage | null> {
    const { status, body } = await this.get(`${target}&limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`);
    if (status === 404) return null;
    if (status !== 200) throw new Error(`${target} answers ${status}: ${JSON.stringify(body)}`);
    const { results, total, cursor: cursors, next_cursor, prev_cursor } = body;
    const isFlat = 'prev_cursor' in body;
    const links = isFlat ? { current: cursors, next: prev_cursor, previous: next_cursor } : cursors;
    return {
      items: (results as unknown[]).map((item) => JSON.stringify(item)),
      total,
      ...(links as object),
    } as WalkedPage;
  }

  /**
   * Reads the whole list in pages of two rows, whose cursors contain the key of the first row and of the last.
   * @returns null if there is no such list
   */
  async rows(list: WalkedList): Promise<WalkedRow[] | null> {
    const rows: WalkedRow[] = [];
    for (let cursor: string | null = null, limit = 2; ; ) {
      const page: WalkedPage | null = await this.page(list, limit, cursor);
      if (page === null) return null;
      const { items, previous, current, next } = page;
      if (items.length === 2 && next === null) {
        // The last page doesn't have the key of its second row.
        limit = 1;
        continue;
      }
      const keys = [keyIn(previous ?? current), keyIn(next)];
      rows.push(...items.map((text, index) => ({ key: keys[index]!, text })));
      if (next === null) return rows;
      cursor = next;
    }
  }

  [Symbol.dispose](): void {
    this.#snapshots.close();
    this.#open[Symbol.dispose]();
    this.#hooks[Symbol.dispose]();
  }
}
