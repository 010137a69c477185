/** Columns and joins that several views have. */
import { PLACE_BITS } from '../../chain/position.ts';
import { shownTime } from '../rows/expressions.ts';
import { PAYLOAD, payloadTypes, STATUS, storedPayload, storedTransactionStatus } from '../rows/words.ts';
import {
  amount,
  bytes,
  hex,
  inBlock,
  integer,
  optionalHex,
  text,
  time,
  unsigned,
  type ViewColumn,
  word,
} from './view.ts';

/** Units of times that are finer than seconds. */
export const PER_SECOND = { microseconds: 1_000_000, milliseconds: 1_000 } as const;

/** @param table the alias of the table whose index has the order of a list */
export const positionOf = (table: string): ViewColumn =>
  integer(`${table}.position`, `Place of the transaction in the chain: height * 2^${PLACE_BITS} + place in the block`);

/** The place of a transaction `t` in its block `b`. */
export const placeColumns = {
  block_height: integer('b.height', 'Height of the block'),
  tx_index: integer('t.tx_index', 'Index of the transaction in the block, as the node gives it'),
  position: positionOf('t'),
  tx_id: hex('t.tx_id', 'Transaction id'),
  tx_id_bytes: bytes('t.tx_id', 'Transaction id as bytes, which an index finds'),
  block_time: time(shownTime, 'Time of the block'),
  index_block_hash: hex('b.index_block_hash', 'Index block hash of the block'),
} satisfies Record<string, ViewColumn>;

/** What {@link placeColumns} need after `transactions t`, or beside it in a FROM. */
export const joinBlock = `JOIN blocks b ON ${inBlock('t.position')}`;

export const statusColumn = word('t.status', storedTransactionStatus, 'What became of the transaction');

const typeColumn = (table: string): ViewColumn =>
  word(`${table}.type`, storedPayload, 'Type of the transaction', (one) => payloadTypes[one]);

/** What a mined and a waiting transaction have in common. @param t the table's alias */
export const spentColumns = (t: string) =>
  ({
    type: typeColumn(t),
    sender: text('sender.address', 'Address that signed the transaction'),
    nonce: integer(`${t}.nonce`, 'Nonce of the sender; null for operations made on Bitcoin'),
    sponsor: text('sponsor.address', 'Address that paid the fee for the sender'),
    sponsor_nonce: integer(`${t}.sponsor_nonce`, 'Nonce of the sponsor'),
    fee: amount(unsigned(`${t}.fee`), 'Fee in micro-STX'),
    recipient: text('recipient.address', 'Recipient of a token transfer, or of the reward of a coinbase'),
    amount: amount(`${t}.amount`, 'Amount of a token transfer in micro-STX'),
    memo: optionalHex(`${t}.memo`, 'Memo of a token transfer with its padding'),
    contract_id: text('contract.address', 'Contract that was called or deployed'),
    function_name: text(`${t}.function_name`, 'Function that was called'),
    clarity_version: integer(`${t}.clarity_version`, 'Clarity version that a deployment names'),
  }) satisfies Record<string, ViewColumn>;

export const spentJoins = (t: string): string =>
  `JOIN principals sender ON sender.id = ${t}.sender_id
  LEFT JOIN principals sponsor ON sponsor.id = ${t}.sponsor_id
  LEFT JOIN principals recipient ON recipient.id = ${t}.recipient_id
  LEFT JOIN principals contract ON contract.id = ${t}.contract_id`;

/** Numbers of statuses and types in conditions. */
export const SUCCESS = STATUS.success;
export const CALL = PAYLOAD.contract_call;
