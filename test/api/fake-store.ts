/** A store of a few made-up items, in memory, with the order and the paging that the real one promises. */
import type {
  BlockId,
  ChainTip,
  CursorKey,
  FoundTransaction,
  Nonces,
  Page,
  PendingTransaction,
  PendingTransactionDetail,
  PrincipalTransaction,
  StxBalance,
  TransactionDetail,
  TransactionEvent,
} from '../../src/store/model.ts';
import type { Reader, Snapshots } from '../../src/store/reader.ts';
import { ADDRESS, bytes, detail, pendingDetail } from './samples.ts';

export interface FakeChain {
  tip: ChainTip | null;
  mempoolVersion: number;
  /** Newest first. */
  mined: TransactionDetail[];
  /** Newest receipt first; dropped ones are found but not listed. */
  waiting: PendingTransactionDetail[];
  events: TransactionEvent[];
  balances: Map<string, StxBalance>;
  nonces: Map<string, Nonces>;
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
    failure: null,
  };
}

export function fakeSnapshots(chain: FakeChain): Snapshots {
  const reader = fakeReader(chain);
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

function fakeReader(chain: FakeChain): Reader {
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
  const listed = () => chain.waiting.filter(({ status }) => status === 'pending');
  const pendingKey = (of: PendingTransaction): CursorKey => [of.receiptTime, of.txId.toHex()];

  const find = (txId: Uint8Array): FoundTransaction | undefined => {
    const mined = chain.mined.find((of) => equal(of.txId, txId));
    if (mined !== undefined) return { mined: true, transaction: mined };
    const waiting = chain.waiting.find((of) => equal(of.txId, txId));
    return waiting && { mined: false, transaction: waiting };
  };

  return {
    chain: {
      tip: async () => chain.tip,
      blockHash: async (id) => blockOf(id)?.indexHash,
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
      version: async () => chain.mempoolVersion,
    },
    principals: {
      stxBalance: async (principal) =>
        chain.balances.get(principal) ?? { balance: 0n, locked: null, pending: { inbound: 0n, outbound: 0n } },
      nonces: async (principal) =>
        chain.nonces.get(principal) ?? { next: 0, lastConfirmed: null, lastPending: null, pending: [], missing: [] },
    },
  };
}
