/** A store of a few made-up items, in memory, with the order and the paging that the real one promises. */

import type { BalanceChange, Nonces, PrincipalTransaction, StxBalance } from '../../src/store/model/account.ts';
import type { AnchorBurnBlock, BlockId, ChainBlock, ChainTip } from '../../src/store/model/block.ts';
import type { ContractLog, Deployment, SmartContract } from '../../src/store/model/contract.ts';
import type { EventPlace, TransactionEvent } from '../../src/store/model/event.ts';
import type { ChainPage, ChainStart, CursorKey, OffsetPage, Page } from '../../src/store/model/page.ts';
import type { FtBalance, FtTransfer, Holder, Move, NftInstance, StxTransfer } from '../../src/store/model/token.ts';
import type {
  FoundTransaction,
  OfferedFee,
  PendingTransaction,
  PendingTransactionDetail,
  TransactionDetail,
} from '../../src/store/model/transaction.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import {
  ADDRESS,
  anchor,
  bytes,
  CONTRACT,
  chainBlock,
  changesOf,
  contract,
  detail,
  ftTransfer,
  hexBytes,
  move,
  NFT,
  OTHER,
  pendingDetail,
  stxTransfer,
  TOKEN,
  U3,
} from './samples.ts';

export interface FakeChain {
  tip: ChainTip | null;
  mempoolVersion: number;
  /** Highest first; each with two signatures. */
  blocks: ChainBlock[];
  /** Highest first. */
  burnBlocks: AnchorBurnBlock[];
  fees: OfferedFee[];
  /** Of `CONTRACT`, newest first, each in a block of its own. */
  logs: ContractLog[];
  deployments: Map<string, Deployment>;
  /** Newest first. */
  mined: TransactionDetail[];
  /** Newest receipt first; dropped ones are found but not listed. */
  waiting: PendingTransactionDetail[];
  events: TransactionEvent[];
  balances: Map<string, StxBalance>;
  nonces: Map<string, Nonces>;
  /** Of `ADDRESS`, each in its list's order. */
  fts: FtBalance[];
  nfts: NftInstance[];
  changes: BalanceChange[];
  transfers: { inbound: StxTransfer[]; outbound: StxTransfer[]; ft: FtTransfer[] };
  /** Of STX, and of `TOKEN`. */
  holders: Holder[];
  supply: string;
  /** Of the instance u3 of `NFT`. */
  history: Move[];
  contracts: SmartContract[];
  /** Thrown by whatever is asked of the store. */
  failure: Error | null;
}

/** Three blocks with two transactions each. */
export function fakeChain(): FakeChain {
  const mined = [3, 2, 1].flatMap((height) => [1, 0].map((txIndex) => detail(height * 16 + txIndex, height, txIndex)));
  return {
    tip: {
      height: 3,
      blockHash: bytes(0xb3),
      indexBlockHash: bytes(0xc3),
      burnBlockHeight: 103,
      microblock: null,
    },
    mempoolVersion: 7,
    blocks: [3, 2, 1].map(chainBlock),
    burnBlocks: [anchor(103, [3]), anchor(102, [2, 1])],
    fees: [{ type: 'token_transfer', fee: 100n, transactions: 2 }],
    logs: [3, 2, 1].map((height) => ({
      txId: bytes(height * 16),
      eventIndex: height,
      topic: 'print',
      value: hexBytes('03'),
    })),
    deployments: new Map<string, Deployment>([[CONTRACT, { status: 'success', txId: bytes(0x31), height: 3 }]]),
    mined,
    waiting: [pendingDetail(0xa2, 2000), pendingDetail(0xa1, 1000)],
    events: [0, 1, 2].map((index) => ({
      index,
      kind: 'stx_lock',
      address: ADDRESS,
      amount: '5',
      unlockHeight: 9,
      contractName: 'pox-4',
    })),
    balances: new Map(),
    nonces: new Map(),
    fts: [
      { asset: TOKEN, balance: '30' },
      { asset: `${TOKEN}-b`, balance: '20' },
    ],
    nfts: [
      { asset: NFT, value: U3 },
      { asset: `${NFT}-b`, value: U3 },
      { asset: `${NFT}-b`, value: hexBytes('04') },
    ],
    changes: mined.slice(0, 2).flatMap(({ txId }) => changesOf(txId)),
    transfers: {
      inbound: [stxTransfer(0x31, 1), stxTransfer(0x31, 0)],
      outbound: [stxTransfer(0x21, 1), stxTransfer(0x21, 0)],
      ft: [ftTransfer(0x31, 3), ftTransfer(0x31, 2)],
    },
    holders: [
      { principal: ADDRESS, balance: '30' },
      { principal: OTHER, balance: '20' },
    ],
    supply: '50',
    history: [move(0x31, 4), { ...move(0x11, 0), sender: null }],
    contracts: [contract()],
    failure: null,
  };
}

type Faked = { [Group in keyof Reader]?: Partial<Reader[Group]> };

/** What isn't made up here says so: a route that reads it is tested on a real index. */
const orUnknown = <T extends object>(faked: T, path: string, known: (value: object, path: string) => unknown): T =>
  new Proxy(faked, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      const at = `${path}.${String(name)}`;
      if (value === undefined) throw new Error(`the made-up store has no ${at}`);
      return typeof value === 'object' && value !== null ? known(value, at) : value;
    },
  });

export const asReader = (faked: Faked): Reader =>
  orUnknown({ file: 1, ...faked }, 'read', (group, path) => orUnknown(group, path, (value) => value)) as Reader;

export function fakeSnapshots(chain: FakeChain): Snapshots {
  const reader = asReader(fakeReader(chain));
  return {
    read: async (request) => {
      if (chain.failure !== null) throw chain.failure;
      return request(reader);
    },
    close: () => {},
  };
}

const equal = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

/** @param order whether an item comes at or after a key */
function pageOf<T>(items: T[], limit: number, start: number, keyOf: (item: T) => CursorKey): Page<T> {
  const key = (at: number) => (items[at] === undefined ? null : keyOf(items[at]));
  const shown = items.slice(start, start + limit);
  return {
    items: shown,
    total: items.length,
    current: shown.length === 0 ? null : key(start),
    next: key(start + limit),
    previous: start === 0 || shown.length === 0 ? null : key(Math.max(0, start - limit)),
  };
}

/** A page of a list whose keys are places in it. */
function placed<T>(items: T[], limit: number, from: CursorKey | null): Page<T> {
  const start = from === null ? 0 : Math.min(Number(from[0]), items.length);
  return pageOf(items, limit, start, (item) => [items.indexOf(item)]);
}

/** A page of a list that is walked by place, or by what stands for one. */
function chainPage<T, Key>(
  items: T[],
  limit: number,
  { at, offset }: ChainStart<Key>,
  keyOf: (item: T) => Key,
  isAt: (key: Key, at: Key) => boolean,
): ChainPage<T, Key> | undefined {
  const found = at === null ? 0 : items.findIndex((item) => isAt(keyOf(item), at));
  const start = found + offset;
  const inList = start >= 0 && start < items.length;
  if (at !== null && (found < 0 || !inList)) return undefined;
  const key = (place: number) => (items[place] === undefined ? null : keyOf(items[place]));
  return {
    items: inList ? items.slice(start, start + limit) : [],
    total: items.length,
    current: inList ? key(start) : null,
    older: inList ? key(start + limit) : null,
    newer: inList && start > 0 ? key(Math.max(0, start - limit)) : null,
  };
}

const offsetPage = <T>(items: T[], limit: number, offset: number): OffsetPage<T> => ({
  items: items.slice(offset, offset + limit),
  total: items.length,
});

function fakeReader(chain: FakeChain): Faked {
  const keyOf = (of: TransactionDetail): CursorKey => [of.block.height, of.txIndex];
  const startAt = (items: TransactionDetail[], from: CursorKey | null): number => {
    if (from === null) return 0;
    const [height, index] = from as [number, number];
    const at = items.findIndex((of) => of.block.height < height || (of.block.height === height && of.txIndex <= index));
    return at < 0 ? items.length : at;
  };
  const blockOf = (id: BlockId) =>
    chain.mined.find(({ block }) => {
      if (id === 'latest') return true;
      if ('height' in id) return block.height === id.height;
      return equal(block.hash, id.hash) || equal(block.indexHash, id.hash);
    })?.block;
  const blockAt = (id: BlockId) =>
    chain.blocks.find(({ height, hash, indexHash }) => {
      if (id === 'latest') return true;
      return 'height' in id ? height === id.height : equal(hash, id.hash) || equal(indexHash, id.hash);
    });
  const burnBlockAt = (id: BlockId) =>
    chain.burnBlocks.find(({ height, hash }) => {
      if (id === 'latest') return true;
      return 'height' in id ? height === id.height : equal(hash, id.hash);
    });
  const logPlace = ({ txId, eventIndex }: ContractLog): EventPlace => ({
    height: (txId[0] ?? 0) >> 4,
    microblockSequence: 2_147_483_647,
    txIndex: 0,
    eventIndex,
  });
  const listed = () => chain.waiting.filter(({ status }) => status === 'pending');
  const pendingKey = (of: PendingTransaction): CursorKey => [of.receiptTime, of.txId.toHex()];

  const find = (txId: Uint8Array): FoundTransaction | undefined => {
    const mined = chain.mined.find((of) => equal(of.txId, txId));
    if (mined !== undefined) return { mined: true, transaction: mined };
    const waiting = chain.waiting.find((of) => equal(of.txId, txId));
    return waiting && { mined: false, transaction: waiting };
  };

  const of = <T>(principal: string, items: T[]): T[] => (principal === ADDRESS ? items : []);

  return {
    chain: {
      tip: async () => chain.tip,
      blockHash: async (id) => blockOf(id)?.indexHash,
      newestArrival: async () => chain.tip?.indexBlockHash,
    },
    blocks: {
      page: async (limit, start) => chainPage(chain.blocks, limit, start, ({ indexHash }) => indexHash, equal),
      ofTenure: async (tenureHeight, limit, start) => {
        const items = chain.blocks.filter((of) => of.tenureHeight === tenureHeight);
        return chainPage(items, limit, start, ({ indexHash }) => indexHash, equal);
      },
      find: async (id) => blockAt(id),
      at: async (time) => chain.blocks.find((of) => of.time <= time),
      averageTimes: async (since) => since.map((time) => time / 1000),
      signatures: async (id, limit, offset) =>
        blockAt(id) && offsetPage([bytes(0x51, 65), bytes(0x52, 65)], limit, offset),
    },
    tenures: { loads: async () => [] },
    burnBlocks: {
      page: async (limit, offset) => offsetPage(chain.burnBlocks, limit, offset),
      find: async (id) => burnBlockAt(id),
      blocks: async (id, limit, offset) => {
        const found = burnBlockAt(id);
        return (
          found &&
          offsetPage(
            chain.blocks.filter(({ burnBlock }) => burnBlock.height === found.height),
            limit,
            offset,
          )
        );
      },
    },
    transactions: {
      page: async (limit, from) => pageOf(chain.mined, limit, startAt(chain.mined, from), keyOf),
      ofBlock: async (id, limit, from) => {
        const block = blockOf(id);
        if (block === undefined) return undefined;
        const items = chain.mined.filter((of) => of.block.height === block.height);
        return pageOf(items, limit, startAt(items, from), keyOf);
      },
      ofPrincipal: async (principal, limit, from) => {
        const items = chain.mined.filter(({ sender }) => sender.address === principal);
        const page = pageOf(items, limit, startAt(items, from), keyOf);
        const concerning = (transaction: TransactionDetail): PrincipalTransaction => ({
          transaction,
          involvement: 'sender',
          stx: { sent: 100_050n, received: 0n },
          affected: { stx: true, ft: false, nft: false },
        });
        return { ...page, items: page.items.map(concerning) };
      },
      find: async (txId) => find(txId),
      state: async (txId) => {
        const found = find(txId);
        if (found === undefined) return undefined;
        const indexBlockHash = found.mined ? found.transaction.block.indexHash : null;
        return { indexBlockHash, status: found.transaction.status };
      },
    },
    events: {
      ofTransaction: async (txId, limit, from) => {
        if (find(txId)?.mined !== true) return undefined;
        const start = from === null ? 0 : chain.events.findIndex(({ index }) => index >= (from[0] as number));
        return pageOf(chain.events, limit, start < 0 ? chain.events.length : start, ({ index }) => [index]);
      },
    },
    mempool: {
      page: async (limit, from) => {
        const at = from === null ? 0 : listed().findIndex((of) => of.receiptTime <= (from[0] as number));
        return pageOf(listed(), limit, at < 0 ? listed().length : at, pendingKey);
      },
      fees: async () => chain.fees,
      version: async () => chain.mempoolVersion,
      ofPrincipal: async (principal, limit, from) => placed(of(principal, listed()), limit, from),
    },
    principals: {
      stxBalance: async (principal) =>
        chain.balances.get(principal) ?? { balance: 0n, locked: null, pending: { inbound: 0n, outbound: 0n } },
      nonces: async (principal) =>
        chain.nonces.get(principal) ?? { next: 0n, lastConfirmed: null, lastPending: null, pending: [], missing: [] },
      ftBalances: async (principal, limit, from) => placed(of(principal, chain.fts), limit, from),
      ftBalance: async (principal, asset) => of(principal, chain.fts).find((ft) => ft.asset === asset)?.balance ?? '0',
      nftBalances: async (principal, asset, limit, from) => {
        const owned = of(principal, chain.nfts);
        return placed(asset === null ? owned : owned.filter((nft) => nft.asset === asset), limit, from);
      },
      balanceChanges: async (principal, txIds, limit, from) => {
        const asked = of(principal, chain.changes).filter(({ txId }) => txIds.some((id) => equal(id, txId)));
        return placed(asked, limit, from);
      },
    },
    transfers: {
      stx: async (principal, direction, limit, from) => placed(of(principal, chain.transfers[direction]), limit, from),
      ft: async (principal, asset, limit, from) =>
        placed(asset === TOKEN ? of(principal, chain.transfers.ft) : [], limit, from),
    },
    tokens: {
      stxSupply: async () => chain.supply,
      ftSupply: async (asset) => (asset === TOKEN ? chain.supply : '0'),
      stxHolders: async (limit, from) => placed(chain.holders, limit, from),
      ftHolders: async (asset, limit, from) => placed(asset === TOKEN ? chain.holders : [], limit, from),
      nftHistory: async (asset, value, limit, from) =>
        placed(asset === NFT && equal(value, U3) ? chain.history : [], limit, from),
    },
    contracts: {
      find: async (contractId) => chain.contracts.find((of) => of.contractId === contractId),
      deployment: async (contractId) => chain.deployments.get(contractId),
      logs: async (contractId, limit, start) =>
        chainPage(contractId === CONTRACT ? chain.logs : [], limit, start, logPlace, (a, b) => a.height <= b.height),
    },
  };
}
