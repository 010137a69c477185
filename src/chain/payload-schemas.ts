/**
 * TypeBox schemas of the payloads that a Stacks node posts to its event observers, with the fields that Stackside
 * needs. Fields that older nodes don't send are optional. Additional fields are allowed.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox';

/** The largest integer that SQLite can store. */
export const MAX_STORED_INTEGER = 2n ** 63n - 1n;

const Hash = Type.String({ pattern: '^(0x)?[0-9a-fA-F]{64}$' });
const Hash20 = Type.String({ pattern: '^(0x)?[0-9a-fA-F]{40}$' });
const Hex = Type.String({ pattern: '^(0x)?([0-9a-fA-F]{2})*$' });
const range = (maximum: number | bigint) => ({ description: `an integer from 0 to ${maximum}` });
const integerUpTo = (maximum: number) => Type.Integer({ minimum: 0, maximum, ...range(maximum) });
const Height = integerUpTo(0xffff_ffff);
/** A count or an index: a u64 in the node, in practice far below 2^53. */
const Unsigned = integerUpTo(Number.MAX_SAFE_INTEGER);
/** Unix seconds, up to the year 9999. Later times have no ISO date with a year of four digits. */
const Seconds = integerUpTo(253_402_300_799);
/**
 * Returns the schema of a number that may exceed a double; `parseJson` then returns a bigint.
 * @param limit a power of two, which the compiled check can represent exactly as a double
 */
const bigBelow = (limit: bigint) =>
  Type.Union([Unsigned, Type.BigInt({ minimum: 0n, exclusiveMaximum: limit })], range(limit - 1n));
const BigUnsigned = bigBelow(2n ** 128n);
/** An unsigned number that is stored as an integer. */
const StoredUnsigned = bigBelow(MAX_STORED_INTEGER + 1n);
/** A u128 as decimal text: micro-STX or a token's base units. */
const Amount = Type.String({ pattern: '^[0-9]{1,39}$' });
const Principal = Type.String({ minLength: 1, maxLength: 170 });
const nullable = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));

const Cost = Type.Object({
  runtime: StoredUnsigned,
  read_count: StoredUnsigned,
  read_length: StoredUnsigned,
  write_count: StoredUnsigned,
  write_length: StoredUnsigned,
});

const BitcoinOperationAddress = Type.Object({ address: Principal });

export const BitcoinOperation = Type.Object({
  transfer_stx: nullable(Type.Object({})),
  stack_stx: nullable(
    Type.Object({
      burn_block_height: nullable(Height),
      sender: BitcoinOperationAddress,
      reward_addr: Type.String(),
      stacked_ustx: BigUnsigned,
      num_cycles: Unsigned,
      signer_key: nullable(Hex),
      max_amount: nullable(BigUnsigned),
      auth_id: nullable(BigUnsigned),
    }),
  ),
  delegate_stx: nullable(
    Type.Object({
      sender: BitcoinOperationAddress,
      delegate_to: BitcoinOperationAddress,
      delegated_ustx: BigUnsigned,
      reward_addr: nullable(Type.Tuple([Unsigned, Type.String()])),
      until_burn_height: nullable(BigUnsigned),
    }),
  ),
});
export type BitcoinOperation = Static<typeof BitcoinOperation>;

const knownStatuses = ['success', 'abort_by_response', 'abort_by_post_condition', 'problematic_skipped'] as const;

/** Reports whether this program supports a status. A newer node may send others. */
export const isKnownStatus = (status: string): status is (typeof knownStatuses)[number] =>
  (knownStatuses as readonly string[]).includes(status);

export const TransactionPayload = Type.Object({
  txid: Hash,
  tx_index: Unsigned,
  raw_tx: Hex,
  status: Type.String(),
  raw_result: Hex,
  execution_cost: Type.Optional(Cost),
  contract_interface: Type.Optional(Type.Unknown()),
  contract_abi: Type.Optional(Type.Unknown()),
  microblock_sequence: nullable(Unsigned),
  microblock_hash: nullable(Hex),
  microblock_parent_hash: nullable(Hex),
  burnchain_op: nullable(BitcoinOperation),
  vm_error: nullable(Type.String()),
});
export type TransactionPayload = Static<typeof TransactionPayload>;

/** The common members of events. The schemas of the bodies are in {@link eventBodies}. */
export const EventPayload = Type.Object({
  txid: Hash,
  event_index: Unsigned,
  committed: Type.Boolean(),
  type: Type.String(),
});
export type EventPayload = Static<typeof EventPayload>;

const asset = { asset_identifier: Type.String({ minLength: 1, maxLength: 300 }) };
const from = { sender: Principal };
const to = { recipient: Principal };
const amount = { amount: Amount };
const value = { raw_value: Hex };

/** Schemas of events' bodies by type; the body is in the member with the type's name. */
export const eventBodies = {
  contract_event: Type.Object({ contract_identifier: Principal, topic: Type.String(), raw_value: Hex }),
  stx_transfer_event: Type.Object({ ...from, ...to, ...amount, memo: Type.Optional(Hex) }),
  stx_mint_event: Type.Object({ ...to, ...amount }),
  stx_burn_event: Type.Object({ ...from, ...amount }),
  stx_lock_event: Type.Object({
    locked_amount: Amount,
    unlock_height: Type.String({ pattern: '^[0-9]{1,15}$' }),
    locked_address: Principal,
    contract_identifier: nullable(Type.String()),
  }),
  ft_transfer_event: Type.Object({ ...asset, ...from, ...to, ...amount }),
  ft_mint_event: Type.Object({ ...asset, ...to, ...amount }),
  ft_burn_event: Type.Object({ ...asset, ...from, ...amount }),
  nft_transfer_event: Type.Object({ ...asset, ...from, ...to, ...value }),
  nft_mint_event: Type.Object({ ...asset, ...to, ...value }),
  nft_burn_event: Type.Object({ ...asset, ...from, ...value }),
} as const;
export type EventType = keyof typeof eventBodies;

const MinerRewardPayload = Type.Object({
  recipient: Principal,
  miner_address: nullable(Principal),
  coinbase_amount: Amount,
  tx_fees_anchored: Amount,
  tx_fees_streamed_confirmed: Amount,
  tx_fees_streamed_produced: Amount,
  from_index_consensus_hash: Hash,
});

/** The reward set without its addresses, which come with the Bitcoin blocks that pay them. */
const RewardSetPayload = Type.Object({
  signers: nullable(
    Type.Array(
      Type.Object({
        signing_key: Hex,
        // Older nodes send a number.
        stacked_amt: Type.Union([Amount, BigUnsigned]),
        weight: Unsigned,
      }),
    ),
  ),
});

export const BlockPayload = Type.Object({
  block_hash: Hash,
  index_block_hash: Hash,
  parent_index_block_hash: Hash,
  parent_block_hash: Hash,
  block_height: Height,
  block_time: nullable(Seconds),
  burn_block_hash: Hash,
  burn_block_height: Height,
  burn_block_time: nullable(Seconds),
  miner_txid: Hash,
  parent_burn_block_hash: nullable(Hash),
  parent_burn_block_height: nullable(Height),
  parent_burn_block_timestamp: nullable(Seconds),
  parent_microblock: Hash,
  parent_microblock_sequence: Unsigned,
  matured_miner_rewards: Type.Array(MinerRewardPayload),
  anchored_cost: nullable(Cost),
  transactions: Type.Array(TransactionPayload),
  events: Type.Array(EventPayload),
  pox_v1_unlock_height: nullable(Height),
  pox_v2_unlock_height: nullable(Height),
  pox_v3_unlock_height: nullable(Height),
  pox_v4_unlock_height: nullable(Height),
  signer_bitvec: nullable(Hex),
  signer_signature: nullable(Type.Array(Hex)),
  tenure_height: nullable(Height),
  reward_set: nullable(RewardSetPayload),
  cycle_number: nullable(Unsigned),
});
export type BlockPayload = Static<typeof BlockPayload>;

const BitcoinPayment = Type.Object({ recipient: Type.String(), amt: BigUnsigned });

export const BurnBlockPayload = Type.Object({
  /** Source of the event if no node posted it. Payouts, slot holders and pox transactions are then missing. */
  filled_from: Type.Optional(Type.String()),
  burn_block_hash: Hash,
  burn_block_height: Height,
  burn_amount: BigUnsigned,
  reward_recipients: Type.Array(BitcoinPayment),
  reward_slot_holders: Type.Optional(Type.Array(Type.String())),
  consensus_hash: nullable(Hash20),
  parent_burn_block_hash: nullable(Hash),
  pox_transactions: nullable(
    Type.Array(
      Type.Object({
        txid: Hash,
        reward_recipients: Type.Array(Type.Object({ recipient: Type.String(), amt: BigUnsigned, utxo_idx: Unsigned })),
      }),
    ),
  ),
});
export type BurnBlockPayload = Static<typeof BurnBlockPayload>;

export const MempoolPayload = Type.Array(Type.String());
export type MempoolPayload = Static<typeof MempoolPayload>;

export const DroppedPayload = Type.Object({
  dropped_txids: Type.Array(Hash),
  reason: Type.String(),
  new_txid: nullable(Hash),
});
export type DroppedPayload = Static<typeof DroppedPayload>;

export const AttachmentsPayload = Type.Array(
  Type.Object({
    attachment_index: Unsigned,
    index_block_hash: Hash,
    block_height: Type.Union([Unsigned, Type.String({ pattern: '^[0-9]+$' })]),
    content_hash: Hash20,
    contract_id: Type.String(),
    metadata: Hex,
    tx_id: Hash,
    content: Hex,
  }),
);
export type AttachmentsPayload = Static<typeof AttachmentsPayload>;

/**
 * The state of an account before the first block of a partial history, as the node returned it. Amounts are in
 * micro-STX.
 */
export const StartingAccountPayload = Type.Object({
  /** The block below the first block, at which the node was queried. */
  parent_index_block_hash: Hash,
  principal: Principal,
  /** Balance without the locked STX. */
  balance: Amount,
  locked: Amount,
  /** Bitcoin height; 0 if nothing is locked. */
  unlock_height: Height,
  /** Next nonce. */
  nonce: Unsigned,
});
export type StartingAccountPayload = Static<typeof StartingAccountPayload>;

/** Generates names and maxima of a schema's numeric fields that may exceed a double. */
function* largeNumbers(schema: TSchema, name = ''): Generator<[string, bigint]> {
  const {
    anyOf = [],
    properties = {},
    items,
  } = schema as { anyOf?: TSchema[]; properties?: Record<string, TSchema>; items?: TSchema | TSchema[] };
  if (schema.type === 'bigint') yield [name, BigInt(schema.exclusiveMaximum) - 1n];
  for (const inner of [...anyOf, ...(items === undefined ? [] : [items].flat())]) yield* largeNumbers(inner, name);
  for (const [property, inner] of Object.entries(properties)) yield* largeNumbers(inner, property);
}

/** Names and maxima of all JSON numbers in payloads that may exceed a double. `JSON.parse` would round them. */
export const LARGE_NUMBERS: ReadonlyMap<string, bigint> = new Map(
  [BlockPayload, BurnBlockPayload].flatMap((schema) => [...largeNumbers(schema)]),
);
