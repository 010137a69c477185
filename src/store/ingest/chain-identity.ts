/**
 * Reads and checks the data's chain: its id, from the setting or the first signed transaction, and whether its first blocks
 * match.
 */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../base/bytes-equal.ts';
import { OperatorError } from '../../base/errors.ts';
import type { Block, TransactionContent } from '../../chain/block.ts';
import { chainIdText, type Network, networkOf, TESTNET_CHAIN_ID } from '../../chain/network.ts';
import { chainIdOf } from '../../chain/normalise.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import type { BlockPayload } from '../../chain/payload-schemas.ts';
import { toHex } from '../../codec/hex.ts';
import { query, type Stored } from '../rows/statement.ts';
import type { TransactionListener } from './event.ts';

export type ChainIdentity = ReturnType<typeof chainIdentity>;

export function chainIdentity(db: Database) {
  const find = query<Stored<'progress', 'chain_id'>>`SELECT chain_id FROM progress`.prepared(db);
  const set = query<null, [number | null]>`UPDATE progress SET chain_id = ?1`.prepared(db);
  /** The chain id in the index; undefined if it must be read. */
  let cachedChainId: number | null | undefined;

  function chainId(): number | null {
    cachedChainId ??= find.get()?.chain_id ?? null;
    return cachedChainId;
  }

  function store(id: number | null): void {
    set.run(id);
    cachedChainId = id;
  }

  return {
    chainId,

    /**
     * Stores the chain id of the setting, or compares it with the stored one.
     * @throws OperatorError if the data has another chain id
     */
    require(expected: number, directory: string): void {
      const stored = chainId();
      if (stored === null) store(expected);
      else if (stored !== expected) {
        throw new OperatorError(
          `The data in ${directory} belongs to chain ${chainIdText(stored)}, but --network is ${chainIdText(expected)}.`,
          'Use a separate --data directory for each chain, and check the node that posts to this port.',
        );
      }
    },

    /** Forgets the chain id, if the data has no entry: then it isn't bound to a chain. */
    forget: () => void store(null),

    /** Null before the first block, unless it was set. */
    network(): Network | null {
      const id = chainId();
      return id === null ? null : networkOf(id);
    },

    /** The network of a block. Stores its chain id if none is stored and the block has a signed transaction. */
    networkFor(payload: Pick<BlockPayload, 'transactions'>): Network {
      const id = chainId();
      if (id !== null) return networkOf(id);
      const detected = chainIdOf(payload);
      if (detected?.certain) store(detected.chainId);
      return networkOf(detected?.chainId ?? TESTNET_CHAIN_ID);
    },

    /** The network for payloads without a block. Before the first block, no transaction is stored: the test network will do. */
    networkOrTest: (): Network => networkOf(chainId() ?? TESTNET_CHAIN_ID),

    listener: {
      undone() {
        cachedChainId = undefined;
      },
    } satisfies TransactionListener,
  };
}

/** Thrown if a block or a pending transaction belongs to another chain than the data. */
export class ForeignChainError extends PayloadError {
  override readonly name = 'ForeignChainError';
  /**
   * @param problem the message without the remedy
   * @param chainId id of the other chain; null if the ids are the same
   */
  constructor(
    readonly problem: string,
    remedy = '',
    readonly chainId: number | null = null,
  ) {
    super(`${problem}${remedy}`);
  }
}

/** Makes the error for a transaction of another chain. @param isEmpty whether the data has no block, so that --network decides */
export function foreignTransaction(
  { txId, chainId }: Pick<TransactionContent, 'txId' | 'chainId'>,
  ownChainId: number,
  isEmpty: boolean,
): ForeignChainError {
  const [theirs, ours] = [chainIdText(chainId), chainIdText(ownChainId)];
  const expected = isEmpty ? `--network is ${ours}` : `this data to chain ${ours}`;
  return new ForeignChainError(
    `Transaction ${toHex(txId)} belongs to chain ${theirs}, but ${expected}`,
    `; to store it, start with --network ${theirs} and another --data directory`,
    chainId,
  );
}

/**
 * Bitcoin blocks above an anchor that confirm it. A rival block with another anchor is rejected then, unless the node
 * announced a Bitcoin fork.
 */
const CONFIRMATIONS = 6;
/** Maximum Bitcoin blocks between two rivals and their common ancestor. */
const DEEPEST_FORK = 20;

/**
 * Makes a check of whether the first blocks of a chain belong to the data's chain. Chain ids don't show it: all devnets have
 * the same one, and most have the same block 0.
 *
 * Block 1 can fork like any other block. All its rivals follow the same block 0 and are anchored to the same Bitcoin chain. So
 * a rival belongs to another chain if it follows another block 0. It also does if the data has another, confirmed Bitcoin
 * block at the height of the rival's anchor, the node announced both Bitcoin blocks, and no announced fork connects them.
 * Without such evidence the rival counts as a fork: a node repeats a rejected block until it is accepted, and sends no other
 * events until then.
 *
 * @returns a function that throws ForeignChainError for a new block of another chain
 */
export function originCheck(db: Database): (block: Block) => void {
  const genesis = query<{ hash: Uint8Array }>`
    SELECT index_block_hash AS hash FROM orphaned_blocks WHERE height = 0 LIMIT 1`.prepared(db);
  const firstParent = query<{ hash: Uint8Array }>`
    SELECT parent_index_block_hash AS hash FROM blocks WHERE height = 1
     UNION ALL SELECT parent_index_block_hash FROM orphaned_blocks WHERE height = 1 LIMIT 1`.prepared(db);
  const confirmedAnchor = query<Stored<'anchor_burn_blocks', 'hash'>, [number, number]>`
    SELECT hash FROM anchor_burn_blocks
     WHERE height = ?1
       AND ?1 + ?2 <= (SELECT height FROM anchor_burn_blocks ORDER BY ordinal DESC LIMIT 1)`.prepared(db);

  const parentOf = query<{ parent_hash: Uint8Array | null }, [Uint8Array]>`
    SELECT parent_hash FROM burn_blocks WHERE hash = ?1
     UNION ALL SELECT parent_hash FROM orphaned_burn_blocks WHERE hash = ?1 LIMIT 1`.prepared(db);

  /** Returns the hashes of a Bitcoin block and its announced ancestors. A node may announce parents in a circle. */
  function withAncestors(hash: Uint8Array): Set<string> {
    const hashes = new Set<string>();
    let ancestor: Uint8Array | null = hash;
    for (let depth = 0; ancestor !== null && depth <= DEEPEST_FORK; depth++) {
      hashes.add(ancestor.toHex());
      ancestor = parentOf.get(ancestor)?.parent_hash ?? null;
    }
    return hashes;
  }

  const isAnnounced = (hash: Uint8Array): boolean => parentOf.get(hash) !== null;
  const forked = (a: Uint8Array, b: Uint8Array): boolean => !withAncestors(a).isDisjointFrom(withAncestors(b));

  function requireSame(field: string, actual: Uint8Array, stored: { hash: Uint8Array } | null, subject: string): void {
    if (stored === null || bytesEqual(actual, stored.hash)) return;
    throw new ForeignChainError(
      `${field} is ${toHex(actual)}, and ${subject} of this data's chain is ${toHex(stored.hash)}`,
    );
  }

  return ({ height, indexBlockHash, parentIndexBlockHash, burnBlockHash, burnBlockHeight }) => {
    if (height === 0) requireSame('index_block_hash', indexBlockHash, genesis.get(), 'block 0');
    if (height !== 1) return;
    requireSame('parent_index_block_hash', parentIndexBlockHash, firstParent.get(), 'the parent of block 1');
    const anchor = confirmedAnchor.get(burnBlockHeight, CONFIRMATIONS);
    if (anchor === null || forked(burnBlockHash, anchor.hash)) return;
    if (!isAnnounced(burnBlockHash) || !isAnnounced(anchor.hash)) return;
    requireSame('burn_block_hash', burnBlockHash, anchor, `Bitcoin block ${burnBlockHeight}`);
  };
}
