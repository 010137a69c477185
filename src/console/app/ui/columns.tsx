/** Columns that several lists have. Each one reads the same members of an item of the API. */
import type { Column } from './parts.tsx';
import { Ago, BlockLink, Party, Principal, TxLink } from './values.tsx';

/** Returns the Unix seconds of a time in ISO 8601. */
export const toUnix = (time: string): number => Date.parse(time) / 1000;

export const TX_ID: Column<{ tx_id: string }> = ['Transaction', 'nowrap', ({ tx_id: id }) => <TxLink id={id} />];
export const TRANSACTION: Column<{ transaction: { tx_id: string } }> = [
  'Transaction',
  'nowrap',
  ({ transaction }) => <TxLink id={transaction.tx_id} />,
];

export const BLOCK: Column<{ block: { height: number } }> = [
  'Block',
  'number wide named',
  ({ block }) => <BlockLink height={block.height} />,
];
export const BLOCK_HEIGHT: Column<{ block_height: number }> = [
  'Block',
  'number wide named',
  ({ block_height: height }) => <BlockLink height={height} />,
];

export const AGE: Column<{ block: { time: number } }> = [
  'Age',
  'number when',
  ({ block }) => <Ago chain time={block.time} />,
];
export const TIME: Column<{ time: string }> = ['Age', 'number when', ({ time }) => <Ago chain time={toUnix(time)} />];

/** The sender and the recipient of an asset. */
export const FROM: Column<{ sender: string | null }> = [
  'From',
  'named',
  ({ sender }) => <Party principal={sender} nobody="minted" />,
];
export const TO: Column<{ recipient: string | null }> = [
  'To',
  'named',
  ({ recipient }) => <Party principal={recipient} nobody="burnt" />,
];

export const HOLDER: Column<{ principal: string }> = [
  'Holder',
  'main',
  ({ principal }) => <Principal principal={principal} />,
];
export const CONTRACT: Column<{ contract_id: string }> = [
  'Contract',
  'main',
  ({ contract_id: id }) => <Principal principal={id} />,
];
