/** Views of events, and of their effects on principals. */
import { EVENT_KIND, storedEventKind } from '../rows/enums.ts';
import {
  amount,
  blockHeight,
  boolean,
  clarityValue,
  hexOrNull,
  integer,
  joinBlock,
  optionalHex,
  positionColumns,
  positionOf,
  text,
  type ViewColumn,
  view,
  word,
} from './view.ts';

const { block_height, tx_index, tx_id, tx_id_bytes, block_time } = positionColumns;

const eventPlace = {
  block_height,
  tx_index,
  position: positionOf('e'),
  tx_id,
  tx_id_bytes,
  block_time,
  event_index: integer('e.event_index', 'Index of the event in its transaction'),
} satisfies Record<string, ViewColumn>;

const { unknown, log, stx_transfer, nft_transfer } = EVENT_KIND;

const eventColumns = {
  type: word('e.kind', storedEventKind, 'Type of the event'),
  sender: text('sender.address', 'Principal that sent or burnt the asset, or whose STX were locked'),
  recipient: text('recipient.address', 'Principal that received the asset'),
  asset_identifier: text('a.identifier', 'Token of an `ft` or `nft` event'),
  amount: amount('e.amount', 'Micro-STX, or base units of a fungible token'),
} satisfies Record<string, ViewColumn>;

const nftValue: ViewColumn = {
  type: 'hex',
  sql: hexOrNull(`iif(e.kind >= ${nft_transfer}, e.value, NULL)`),
  help: 'NFT of an `nft` event as a serialized Clarity value',
  isClarity: true,
};

const sides = `LEFT JOIN principals sender ON sender.id = e.sender_id
  LEFT JOIN principals recipient ON recipient.id = e.recipient_id
  LEFT JOIN assets a ON a.id = e.asset_id`;

const events = view({
  name: 'events',
  help: 'One row per event of a transaction of the canonical chain.',
  columns: {
    ...eventPlace,
    ...eventColumns,
    contract_id: text('contract.address', 'Contract of a log'),
    topic: text(`iif(e.kind = ${log}, e.topic, NULL)`, 'Topic of a log'),
    unlock_height: integer('e.unlock_height', 'Bitcoin height at which a lock ends'),
    value: clarityValue(
      optionalHex(
        `iif(e.kind IN (${stx_transfer}, ${unknown}), NULL, e.value)`,
        'Value of a log, or instance of an `nft` event, as a serialized Clarity value',
      ),
    ),
    memo: optionalHex(
      `iif(e.kind = ${stx_transfer}, e.value, NULL)`,
      'Memo of an STX transfer; the memos of send-many contracts are logs, in `value`',
    ),
  },
  from: `events e JOIN transactions t ON t.position = e.position ${joinBlock}
  ${sides}
  LEFT JOIN principals contract ON contract.id = e.contract_id`,
  indexed: ['block_height', 'position', 'tx_id_bytes'],
  order: ['position', 'event_index'],
  range: 'position',
});

const contractLogs = view({
  name: 'contract_logs',
  help: 'One row per log (print) of a contract on the canonical chain.',
  columns: {
    ...eventPlace,
    contract_id: text('contract.address', 'Contract that printed'),
    topic: text('e.topic', 'Topic of the log'),
    value: clarityValue(optionalHex('e.value', 'Value as a serialized Clarity value')),
  },
  from: `events e JOIN transactions t ON t.position = e.position ${joinBlock}
  JOIN principals contract ON contract.id = e.contract_id
 WHERE e.kind = ${log}`,
  indexed: ['block_height', 'position', 'tx_id_bytes', 'contract_id'],
  order: ['position', 'event_index'],
  range: 'position',
});

const touched = `principals p JOIN principal_transactions pt ON pt.principal_id = p.id
  JOIN transactions t ON t.position = pt.position ${joinBlock}`;

const principalTransactions = view({
  name: 'principal_transactions',
  help: 'One row per transaction of the canonical chain and principal that took part in it.',
  columns: {
    principal: text('p.address', 'Address or contract identifier'),
    block_height: blockHeight,
    tx_index,
    position: positionOf('pt'),
    tx_id,
    tx_id_bytes,
    block_time,
    stx_sent: amount('pt.stx_sent', 'Micro-STX that the principal sent, with the fee it paid'),
    stx_received: amount('pt.stx_received', 'Micro-STX that the principal received'),
    is_sender: boolean('t.sender_id = pt.principal_id', '1 if the principal signed the transaction'),
  },
  from: touched,
  indexed: ['principal'],
  range: 'position',
});

const principalEvents = view({
  name: 'principal_events',
  help: 'One row per event that moved an asset and its sender or recipient.',
  columns: {
    principal: text('p.address', 'Address or contract identifier'),
    ...eventPlace,
    ...eventColumns,
    value: nftValue,
  },
  from: `${touched}
  JOIN events e ON e.position = pt.position AND e.kind >= ${stx_transfer}
   AND (e.sender_id = p.id OR e.recipient_id = p.id)
  ${sides}`,
  indexed: ['principal', 'block_height', 'position', 'tx_id_bytes'],
  range: 'position',
});

export const eventViews = [events, contractLogs, principalTransactions, principalEvents];
