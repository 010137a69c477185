/** Transactions as sentences and in tables. */

import { contractNameOf } from '../../../codec/address.ts';
import { type ListedPending, type ListedTransaction, urlOf } from '../api/api.ts';
import type { ChosenFilters } from '../chain/filters.ts';
import { stxText } from '../chain/format.ts';
import { action, fateOf, kindOf, type Part, STATUSES } from '../chain/transaction.ts';
import { AGE, BLOCK, TX_ID } from './columns.tsx';
import { nothingMatches } from './filters.tsx';
import { type Column, List, PER_PAGE, useList } from './parts.tsx';
import { pathTo } from './router.ts';
import { Ago, Badge, Principal } from './values.tsx';

/** Renders a sentence with links for its principals and functions. */
export const Sentence = ({ parts }: { parts: readonly Part[] }) => (
  <>
    {parts.map((part, index) => {
      if (typeof part === 'string') return part;
      if ('principal' in part) return <Principal key={index} principal={part.principal} />;
      return (
        <a key={index} href={pathTo('contract', { id: part.contract })} title={part.contract}>
          <span class="mono">
            {contractNameOf(part.contract)}::{part.function}
          </span>
        </a>
      );
    })}
  </>
);

const TONES = { done: 'ok', failed: 'bad', pending: 'wait', dropped: 'plain' } as const;

/** Renders the status of a transaction as a badge. */
export const Status = ({ status }: { status: string }) => (
  <Badge tone={TONES[fateOf(status)]}>{STATUSES[status as keyof typeof STATUSES] ?? 'Dropped'}</Badge>
);

/** Renders a fee in a table. */
export const Fee = ({ micro }: { micro: string }) => (
  <span class={micro === '0' ? 'quiet' : ''}>{micro === '0' ? 'none' : stxText(micro)}</span>
);

/** Renders the status of a mined transaction in a table. Success is paler than the other statuses. */
export const MinedStatus = ({ status }: { status: string }) =>
  status === 'success' ? <span class="quiet">Success</span> : <Status status={status} />;

type Listed = ListedTransaction | ListedPending;

const ACTION: Column<Listed> = ['Action', 'main', (transaction) => <Sentence parts={action(transaction)} />];
const kind = (classes: string): Column<Listed> => ['Type', classes, ({ type }) => kindOf(type)];
const KIND = kind('wide nowrap');
const SENDER: Column<Listed> = ['From', 'nowrap named', ({ sender }) => <Principal principal={sender.address} />];
const fee = (classes: string): Column<Listed> => ['Fee', classes, ({ fee_rate: micro }) => <Fee micro={micro} />];
const FEE = fee('number named');
const status = (classes: string): Column<ListedTransaction> => [
  'Status',
  classes,
  ({ status: value }) => <MinedStatus status={value} />,
];
const STATUS = status('nowrap');

/** Columns of the newest transactions in a narrow panel. */
export const NEWEST_COLUMNS: readonly Column<ListedTransaction>[] = [ACTION, status('nowrap wide'), KIND, FEE, AGE];

/** Columns of the transactions of a block. */
export const COLUMNS_IN_BLOCK: readonly Column<ListedTransaction>[] = [
  ACTION,
  STATUS,
  kind('widest nowrap'),
  SENDER,
  fee('number wide named'),
  TX_ID,
];

/** Columns of mined transactions. */
export const MINED_COLUMNS: readonly Column<ListedTransaction>[] = [...COLUMNS_IN_BLOCK, BLOCK, AGE];

/** Columns of pending transactions, with the time since each was received. */
export const PENDING_COLUMNS: readonly Column<ListedPending>[] = [
  ACTION,
  KIND,
  SENDER,
  FEE,
  ['Nonce', 'number wide named', ({ sender }) => sender.nonce],
  ['Received', 'number when', ({ receipt_time: time }) => <Ago time={time} />],
  TX_ID,
];

export const idOf = ({ tx_id }: { tx_id: string }): string => tx_id;

/** Returns the API path of the transactions that meet conditions. */
export const searchPath = (conditions: ChosenFilters['conditions'], principal?: string): string =>
  urlOf('/stackside/v1/transactions', { ...conditions, principal, limit: PER_PAGE });

interface MatchingProps {
  conditions: NonNullable<ChosenFilters['conditions']>;
  /** The principal that the transactions concern; undefined for any. */
  principal?: string;
  version?: string;
}

/** Renders the transactions of the chain that meet conditions, newest first. */
export function MatchingTransactions({ conditions, principal, version }: MatchingProps) {
  return (
    <List
      label="Transactions"
      loaded={useList('/stackside/v1/transactions', { ...conditions, principal }, version)}
      columns={MINED_COLUMNS}
      keyOf={idOf}
      empty={({ cursor: { next } }) => nothingMatches(next !== null)}
      stacked
    />
  );
}
