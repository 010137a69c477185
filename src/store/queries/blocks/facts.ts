/** Lists the accounts, tokens and cycles that blocks changed, with their values after a block, which a node's RPC API can confirm. */
import type { Database } from 'bun:sqlite';
import { heightOf, positionsOf } from '../../../chain/position.ts';
import { stxOf } from '../../model/account.ts';
import { DEPLOYMENTS, EVENT_KIND, PAYLOAD, STATUS } from '../../rows/enums.ts';
import { decimalOf } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { accountStates } from '../accounts/account-states.ts';
import { lockQuery } from '../accounts/locks.ts';
import { numbers } from '../numbers.ts';

const ftEvents = `${EVENT_KIND.ft_transfer}, ${EVENT_KIND.ft_mint}, ${EVENT_KIND.ft_burn}`;
const nftEvents = `${EVENT_KIND.nft_transfer}, ${EVENT_KIND.nft_mint}, ${EVENT_KIND.nft_burn}`;

export const sql = {
  block: query<BlockFacts, [number]>`
    SELECT height, index_block_hash, parent_index_block_hash, block_time, burn_block_hash, burn_block_height,
           burn_block_time, signer_bits, signer_signatures
      FROM blocks WHERE height = ?1`,
  transactions: query<BlockTransaction, Positions>`
    SELECT t.tx_id, t.type, d.result, d.raw FROM transactions t JOIN transaction_bodies d ON d.position = t.position
     WHERE t.position BETWEEN ?1 AND ?2 AND t.genesis_block_time IS NULL ORDER BY t.position`,
  principals: query<Stored<'principals', 'address'>, [...PositionsUpTo, height: number, upTo: number]>`
    SELECT p.address FROM principals p WHERE p.id IN (
      SELECT sender_id FROM transactions WHERE position BETWEEN ?1 AND ?2
      UNION ALL SELECT sponsor_id FROM transactions WHERE position BETWEEN ?1 AND ?2
      UNION ALL SELECT recipient_id FROM transactions WHERE position BETWEEN ?1 AND ?2 AND type = ${PAYLOAD.token_transfer}
      UNION ALL SELECT contract_id FROM transactions WHERE position BETWEEN ?1 AND ?2
      UNION ALL SELECT sender_id FROM events WHERE position BETWEEN ?1 AND ?2
      UNION ALL SELECT recipient_id FROM events WHERE position BETWEEN ?1 AND ?2
      UNION ALL SELECT recipient_id FROM miner_rewards WHERE height = ?4)
    AND NOT EXISTS (SELECT * FROM principal_transactions WHERE principal_id = p.id AND position > ?2 AND position <= ?3)
    AND NOT EXISTS (SELECT * FROM stx_locks WHERE principal_id = p.id AND position > ?2 AND position <= ?3)
    AND NOT EXISTS (SELECT * FROM miner_rewards WHERE recipient_id = p.id AND height > ?4 AND height <= ?5)`,
  contracts: query<Stored<'principals', 'address'>, Positions>`
    SELECT p.address FROM transactions t JOIN principals p ON p.id = t.contract_id
     WHERE t.position BETWEEN ?1 AND ?2 AND t.type IN (${DEPLOYMENTS}) AND t.status = ${STATUS.success}`,
  ft: query<TouchedItems['ft'][number], PositionsUpTo>`
    SELECT a.identifier AS asset, p.address AS principal FROM events e JOIN assets a ON a.id = e.asset_id
      JOIN principals p ON p.id IN (e.sender_id, e.recipient_id)
     WHERE e.position BETWEEN ?1 AND ?2 AND e.kind IN (${ftEvents})
       AND NOT EXISTS (SELECT * FROM events n WHERE n.asset_id = a.id AND n.recipient_id = p.id
                          AND n.kind IN (${EVENT_KIND.ft_transfer}, ${EVENT_KIND.ft_mint})
                          AND n.position > ?2 AND n.position <= ?3)
       AND NOT EXISTS (SELECT * FROM events n WHERE n.asset_id = a.id AND n.sender_id = p.id
                          AND n.kind IN (${EVENT_KIND.ft_transfer}, ${EVENT_KIND.ft_burn})
                          AND n.position > ?2 AND n.position <= ?3)`,
  nft: query<TouchedItems['nft'][number], PositionsUpTo>`
    SELECT a.identifier AS asset, e.value FROM events e JOIN assets a ON a.id = e.asset_id
     WHERE e.position BETWEEN ?1 AND ?2 AND e.kind IN (${nftEvents})
       AND NOT EXISTS (SELECT * FROM events n WHERE n.asset_id = e.asset_id AND n.value = e.value
                          AND n.kind >= ${EVENT_KIND.nft_transfer} AND n.position > ?2 AND n.position <= ?3)`,
  cycles: query<Stored<'reward_cycles', 'cycle'>, [number]>`SELECT cycle FROM reward_cycles WHERE height = ?1`,
  signers: query<Stored<'cycle_signers', 'signer_key' | 'weight' | 'stacked'>, [number]>`
    SELECT signer_key, weight, stacked FROM cycle_signers WHERE cycle = ?1`,
  contract: query<
    Stored<'transactions', 'position'> & Stored<'transaction_bodies', 'raw' | 'contract_interface'>,
    [number]
  >`
    SELECT t.position, d.raw, d.contract_interface FROM transactions t
      JOIN transaction_bodies d ON d.position = t.position
     WHERE t.contract_id = ?1 AND t.type IN (${DEPLOYMENTS}) AND t.status = ${STATUS.success}
     ORDER BY t.position DESC LIMIT 1`,
  owner: query<{ address: string | null }, [number, Uint8Array, number]>`
    SELECT p.address FROM events e LEFT JOIN principals p ON p.id = e.recipient_id
     WHERE e.asset_id = ?1 AND e.value = ?2 AND e.kind >= ${EVENT_KIND.nft_transfer} AND e.position <= ?3
     ORDER BY e.position DESC, e.event_index DESC LIMIT 1`,
};

/** Things that a block was the last to touch, each listed once. If a later block touched a thing, it belongs to that block. */
export interface TouchedItems {
  /** Addresses and contracts; their STX or nonces may have changed. */
  principals: string[];
  /** Contracts that were deployed successfully. */
  contracts: string[];
  ft: { asset: string; principal: string }[];
  /** `value`: serialized Clarity value. */
  nft: { asset: string; value: Uint8Array }[];
  /** Reward cycles; the block chose their signers. */
  cycles: number[];
  transactions: BlockTransaction[];
}

export type BlockTransaction = Stored<'transactions', 'tx_id' | 'type'> &
  Stored<'transaction_bodies', 'result' | 'raw'>;

/** A block, by the values that a node returns for it. */
export type BlockFacts = Stored<
  'blocks',
  | 'height'
  | 'index_block_hash'
  | 'parent_index_block_hash'
  | 'block_time'
  | 'burn_block_hash'
  | 'burn_block_height'
  | 'burn_block_time'
  | 'signer_bits'
  | 'signer_signatures'
>;

/** An account's STX in micro-STX, and its next nonce. */
export interface AccountFacts {
  /** Without locked STX. */
  balance: bigint;
  locked: bigint;
  /** Bitcoin height at which the lock ends; 0 without one. */
  unlockHeight: number;
  nonce: bigint;
}

type Positions = [first: number, last: number];
/** The positions of a block, and the last position of the block up to which later changes count. */
type PositionsUpTo = [...Positions, upTo: number];

/** Each item once. */
const distinct = <T>(items: readonly T[], key: (item: T) => string): T[] => [
  ...new Map(items.map((item) => [key(item), item])).values(),
];

/** Heights belong to canonical blocks. */
export function factQueries(db: Database) {
  const read = statements(db, sql);
  const { principalOf, assetOf } = numbers(db);
  const states = accountStates(db);
  const lockAt = lockQuery(db);

  return {
    /** Undefined if there is no such block. */
    block: (height: number): BlockFacts | undefined => read.block.get(height) ?? undefined,

    /** Things that a block touched and no later block up to a height did. */
    touched(height: number, upTo: number): TouchedItems {
      const { first, last } = positionsOf(height);
      const { last: end } = positionsOf(upTo);
      return {
        principals: read.principals.all(first, last, end, height, upTo).map(({ address }) => address),
        contracts: read.contracts.all(first, last).map(({ address }) => address),
        ft: distinct(read.ft.all(first, last, end), ({ asset, principal }) => `${asset} ${principal}`),
        nft: distinct(read.nft.all(first, last, end), ({ asset, value }) => `${asset} ${value.toHex()}`),
        cycles: read.cycles.all(height).map(({ cycle }) => cycle),
        transactions: read.transactions.all(first, last),
      };
    },

    /** An account after a block, as a node's `/v2/accounts` has it: amounts in micro-STX. */
    account(principal: string, height: number): AccountFacts {
      const id = principalOf(principal);
      const state = states.at(id, height);
      const { amount: locked, unlockHeight } = lockAt(id, height) ?? { amount: 0n, unlockHeight: 0 };
      const nonce = state.lastNonce === null ? 0n : state.lastNonce + 1n;
      return { balance: stxOf(state) - locked, locked, unlockHeight, nonce };
    },

    /** Base units of a token that a principal has after a block. */
    ftBalance: (asset: string, principal: string, height: number): bigint =>
      states.ftBalance(principalOf(principal), assetOf(asset), height),

    /** Who owns an instance after a block; null if it was burnt, or isn't minted yet. */
    nftOwner: (asset: string, value: Uint8Array, height: number): string | null =>
      read.owner.get(assetOf(asset), value, positionsOf(height).last)?.address ?? null,

    /** The newest successful deployment; undefined if there is none. */
    contract(contractId: string) {
      const row = read.contract.get(principalOf(contractId));
      return row === null
        ? undefined
        : { height: heightOf(row.position), raw: row.raw, interface: row.contract_interface };
    },

    /** The signers of a cycle by their keys, with their stacked micro-STX. */
    signers: (cycle: number): { key: Uint8Array; weight: number; stacked: bigint }[] =>
      read.signers
        .all(cycle)
        .map(({ signer_key: key, weight, stacked }) => ({ key, weight, stacked: BigInt(decimalOf(stacked)) })),
  };
}
