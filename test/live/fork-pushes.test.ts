/** A client's last messages equal the API's answers after any change of the tip. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { stxBalanceWithTotals, transactionWithStxTransfers } from '../../src/api/shared/address.ts';
import { block as blockObject } from '../../src/api/shared/block.ts';
import {
  declarationsFor,
  mempoolTransaction,
  transaction as transactionObject,
} from '../../src/api/shared/transaction.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { jsonOf } from '../../src/http/json.ts';
import { changeMessages } from '../../src/live/feed.ts';
import {
  createSubscriptions,
  type Message,
  nftAssetTopic,
  nftCollectionTopic,
  plainTopic,
  principalTopic,
  type Topic,
  transactionTopic,
} from '../../src/live/subscriptions.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openNew, received } from '../support/data/ingest.ts';
import { watchedSnapshots } from '../support/data/watched-snapshots.ts';
import { eventsOf, type Forks, forks } from '../support/events/forked-chain.ts';
import { assertProperty, Seen } from '../support/property.ts';

// biome-ignore lint/suspicious/noExplicitAny: messages and answers are read member by member.
type Json = any;

/** A limit above the number of transactions in a generated chain. */
const NO_LIMIT = 10_000;

const balanceOf = (read: Reader, principal: string): Json =>
  stxBalanceWithTotals(read.principals.stxHistory(principal, Number.MAX_SAFE_INTEGER), false);

/** Blocks without the parts that a later block changes: microblocks, and the transactions of block 0 in block 1. */
const comparedBlock = (block: Json): Json => ({
  ...block,
  microblocks_streamed: [],
  txs: block.height === 1 ? [] : block.txs,
});

/**
 * A transaction without the parts that change without a message: the transaction that replaced it, and the declaration of the
 * called function. A fork may take back the contract that declares it.
 */
const comparedTransaction = (transaction: Json): Json => ({
  ...transaction,
  replaced_by_tx_id: null,
  contract_call: transaction.contract_call && {
    ...transaction.contract_call,
    function_signature: '',
    function_args: transaction.contract_call.function_args.map(({ hex }: Json) => hex),
  },
});

/** The messages of a client that subscribed to everything, the last one for each thing. */
class LastMessages {
  readonly blocks = new Map<string, Json>();
  readonly transactions = new Map<string, Json>();
  readonly addressTransactions = new Map<string, Json>();
  readonly balances = new Map<string, Json>();
  /** By topic. */
  readonly nftEvents = new Map<string, Json>();
  readonly #seen: Seen;

  constructor(seen: Seen) {
    this.#seen = seen;
  }

  /** Reads the responses at block 0, which has no messages. */
  async begin(read: Reader, { addresses, txIds }: Subjects): Promise<void> {
    for (const address of addresses) this.balances.set(address, balanceOf(read, address));
    for (const txId of txIds) {
      const answer = await answerOf(read, txId);
      if (answer !== undefined) this.transactions.set(txId, answer);
    }
    for (const [key, answer] of Object.entries(await addressTransactionsOf(read, addresses))) {
      this.addressTransactions.set(key, answer);
    }
  }

  readonly deliver = (message: Message, topic: string): void => {
    const { method, params } = JSON.parse(message.rpc());
    this.#seen.add(method);
    switch (method) {
      case 'block':
        this.blocks.set(params.index_block_hash, params);
        break;
      case 'tx_update':
        if (params.canonical === false) this.#seen.add('orphaned');
        this.transactions.set(params.tx_id, params);
        break;
      case 'address_tx_update':
        if (!params.tx.canonical) this.#seen.add('undone');
        this.addressTransactions.set(`${params.address} ${params.tx_id}`, params);
        break;
      case 'address_balance_update':
        this.#balance(params);
        break;
      default:
        if (!params.canonical) this.#seen.add('undone_token');
        this.nftEvents.set(`${topic} ${params.tx_id} ${params.event_index}`, params);
    }
  };

  #balance({ address, ...balance }: Json): void {
    const before = this.balances.get(address);
    if (before?.total_miner_rewards_received !== balance.total_miner_rewards_received) this.#seen.add('rewards');
    if (before?.locked !== '0' && balance.locked === '0') this.#seen.add('unlocks');
    this.balances.set(address, balance);
  }
}

/** Transactions, addresses and tokens. */
interface Subjects {
  addresses: string[];
  txIds: string[];
  tokens: [asset: string, value: string][];
}

function subjectsOf(events: readonly NodeEvent[]): Subjects {
  const matchesOf = (pattern: RegExp) => [...new Set(events.flatMap(({ body }) => body.match(pattern) ?? []))];
  const txIds = new Set<string>();
  const tokens = new Set<string>();
  for (const { path, body } of events) {
    if (path !== '/new_block') continue;
    const block = JSON.parse(body);
    for (const { txid } of block.transactions) txIds.add(txid);
    for (const event of block.events) {
      const nft = event.nft_mint_event ?? event.nft_transfer_event ?? event.nft_burn_event;
      if (nft !== undefined) tokens.add(`${nft.asset_identifier} ${nft.raw_value}`);
    }
  }
  return {
    addresses: matchesOf(/\bST[0-9A-Z]{38,40}\b/g),
    txIds: [...txIds],
    tokens: [...tokens].map((token) => token.split(' ') as [asset: string, value: string]),
  };
}

async function answerOf(read: Reader, txId: string): Promise<Json> {
  const match = read.transactions.findInForks(fromHex(txId));
  if (match === undefined) return undefined;
  const declarations = declarationsFor(read, [match.transaction]);
  return match.mined
    ? transactionObject(match.transaction, { declarations })
    : mempoolTransaction(match.transaction, { declarations });
}

/** The canonical messages among the last ones, by key. */
const canonicalIn = (messages: ReadonlyMap<string, Json>, isCanonical: (params: Json) => boolean) =>
  Object.fromEntries([...messages].filter(([, params]) => isCanonical(params)));

const comparedTransactions = (items: Record<string, Json>): Json =>
  Object.fromEntries(Object.entries(items).map(([key, item]) => [key, { ...item, tx: comparedTransaction(item.tx) }]));

async function addressTransactionsOf(read: Reader, addresses: readonly string[]): Promise<Json> {
  const answers: Record<string, Json> = {};
  for (const address of addresses) {
    const heights = { first: 0, last: NO_LIMIT };
    const { items } = read.addresses.transactionsWithTransfers(address, heights, NO_LIMIT, 0);
    for (const item of items) {
      const answer = JSON.parse(jsonOf(transactionWithStxTransfers(item, declarationsFor(read, [item.transaction]))));
      const { tx_id, tx_status, tx_type } = answer.tx;
      answers[`${address} ${tx_id}`] = { address, tx_id, tx_status, tx_type, ...answer };
    }
  }
  return answers;
}

async function nftEventsOf(read: Reader): Promise<Json> {
  const answers: Record<string, Json> = {};
  for (let height = 1; height <= read.height(); height++) {
    for (const { txId, txIndex, blockHeight, eventIndex, action, asset, value, ...parties } of read.changes.nftEvents(
      height,
    )) {
      for (const { key } of nftTopicsOf(asset, toHex(value))) {
        answers[`${key} ${toHex(txId)} ${eventIndex}`] = {
          asset_identifier: asset,
          asset_event_type: action,
          tx_id: toHex(txId),
          tx_index: txIndex,
          block_height: blockHeight,
          event_index: eventIndex,
          ...parties,
          canonical: true,
          value: expect.objectContaining({ hex: toHex(value) }),
        };
      }
    }
  }
  return answers;
}

const nftTopicsOf = (asset: string, value: string): Topic[] => [
  plainTopic('nft-event'),
  nftAssetTopic(asset, value),
  nftCollectionTopic(asset),
];

const topicsOf = ({ addresses, txIds, tokens }: Subjects): Topic[] => [
  plainTopic('block'),
  ...txIds.map(transactionTopic),
  ...addresses.map((address) => principalTopic('address-transaction', address)),
  ...addresses.map((address) => principalTopic('address-stx-balance', address)),
  ...tokens.flatMap(([asset, value]) => nftTopicsOf(asset, value)),
];

function compareBalances(read: Reader, lastMessages: LastMessages, { addresses }: Subjects): void {
  for (const address of addresses) {
    expect({ address, ...lastMessages.balances.get(address) }).toEqual({ address, ...balanceOf(read, address) });
  }
}

async function compareTheRest(read: Reader, lastMessages: LastMessages, { addresses, txIds }: Subjects): Promise<void> {
  for (const [hash, block] of lastMessages.blocks) {
    const answer = blockObject(read.blocks.whole({ indexHash: fromHex(hash) })!, 'ascending');
    expect(comparedBlock(block)).toEqual(comparedBlock(answer));
  }
  for (const txId of txIds) {
    const answer = await answerOf(read, txId);
    const last = lastMessages.transactions.get(txId);
    expect([txId, last === undefined]).toEqual([txId, answer === undefined]);
    if (answer !== undefined) expect(comparedTransaction(last)).toEqual(comparedTransaction(answer));
  }
  expect(comparedTransactions(canonicalIn(lastMessages.addressTransactions, ({ tx }) => tx.canonical))).toEqual(
    comparedTransactions(await addressTransactionsOf(read, addresses)),
  );
  expect(canonicalIn(lastMessages.nftEvents, ({ canonical }) => canonical)).toEqual(await nftEventsOf(read));
}

test("the last messages equal the API's answers after every change of the tip", async () => {
  const seen = new Seen({
    block: 20,
    tx_update: 20,
    address_tx_update: 20,
    address_balance_update: 20,
    nft_event: 20,
    nft_asset_event: 20,
    nft_collection_event: 20,
    orphaned: 3,
    undone: 10,
    undone_token: 3,
    rewards: 3,
    unlocks: 1,
  });
  await assertProperty(
    fc.asyncProperty(forks(), async (world: Forks) => {
      const events = eventsOf(world);
      const subjects = subjectsOf(events);
      using open = openNew();
      using snapshots = watchedSnapshots(open.directory);
      const all = createSubscriptions();
      const lastMessages = new LastMessages(seen);
      const messagesOf = changeMessages(all);
      for (const topic of topicsOf(subjects)) {
        all.add({ deliver: (message) => lastMessages.deliver(message, topic.key) }, topic, topic.key);
      }
      let newest = 0;
      for (const [index, event] of events.entries()) {
        open.ingest.receive(received(event));
        await snapshots.readLong(async (read) => {
          if (index === 0) await lastMessages.begin(read, subjects);
          const changes = read.changes.after(newest, NO_LIMIT);
          for (const change of changes) {
            newest = change.id;
            for await (const message of messagesOf(read, change)) all.publish(message);
          }
          compareBalances(read, lastMessages, subjects);
          const isFork = changes.some(({ kind }) => kind === 'undone');
          if (isFork || index === events.length - 1) await compareTheRest(read, lastMessages, subjects);
        });
      }
    }),
    {
      seen,
      cases: 3,
      shrink: false,
      examples: fc
        .sample(forks(), { numRuns: 10, seed: 1_306_253_083 })
        .slice(7)
        .map((example): [Forks] => [example]),
    },
  );
});
