/** Transactions as sentences and in tables. */
import { stxText } from '../chain/format.ts';
import { action, fateOf, kindOf, type Part } from '../chain/transaction.ts';
import type { ListedPending, ListedTransaction } from '../chain/types.ts';
import { type Column, Table } from './parts.tsx';
import { pathTo } from './router.ts';
import { Ago, Badge, BlockLink, Principal, TxLink } from './values.tsx';

/** A sentence with links for its principals and functions. */
export const Sentence = ({ parts }: { parts: readonly Part[] }) => (
  <>
    {parts.map((part, index) => {
      if (typeof part === 'string') return part;
      if ('principal' in part) return <Principal key={index} principal={part.principal} />;
      return (
        <a key={index} href={pathTo('contract', { id: part.contract })} title={part.contract}>
          <span class="mono">
            {part.contract.slice(part.contract.indexOf('.') + 1)}::{part.function}
          </span>
        </a>
      );
    })}
  </>
);

const STATUS = {
  success: 'Success',
  abort_by_response: 'Failed',
  abort_by_post_condition: 'Post-condition failed',
  problematic_skipped: 'Skipped',
  unknown: 'Unknown status',
  pending: 'Pending',
} as const;

const TONES = { done: 'ok', failed: 'bad', pending: 'wait', dropped: 'plain' } as const;

/** The status of a transaction as a badge. */
export const Status = ({ status }: { status: string }) => (
  <Badge tone={TONES[fateOf(status)]}>{STATUS[status as keyof typeof STATUS] ?? 'Dropped'}</Badge>
);

type Listed = ListedTransaction | ListedPending;

const KIND: Column<Listed> = { name: 'Type', class: 'medium nowrap', cell: ({ type }) => kindOf(type) };
const ID: Column<Listed> = { name: 'Transaction', class: 'nowrap', cell: ({ tx_id }) => <TxLink id={tx_id} /> };
const SENDER: Column<Listed> = {
  name: 'From',
  class: 'medium nowrap',
  cell: ({ sender }) => <Principal principal={sender.address} />,
};
const ACTION: Column<Listed> = {
  name: 'Action',
  class: 'main',
  cell: (transaction) => <Sentence parts={action(transaction)} />,
};
const FEE: Column<Listed> = {
  name: 'Fee',
  class: 'number wide',
  cell: ({ fee_rate }) => (fee_rate === '0' ? <span class="quiet">none</span> : stxText(fee_rate)),
};

const mined = (cell: (transaction: ListedTransaction) => ReturnType<Column<Listed>['cell']>) => (transaction: Listed) =>
  'block' in transaction ? cell(transaction) : null;

interface ListProps {
  label: string;
  transactions: readonly ListedTransaction[];
  empty: string;
  /** Whether rows have columns for block and age (default: true). */
  withBlock?: boolean;
}

/** A table of mined transactions. */
export function TransactionTable({ label, transactions, empty, withBlock = true }: ListProps) {
  const columns: Column<Listed>[] = [
    ID,
    KIND,
    ACTION,
    SENDER,
    FEE,
    {
      name: 'Status',
      class: 'medium nowrap',
      cell: ({ status }) => (status === 'success' ? <span class="quiet">Success</span> : <Status status={status} />),
    },
  ];
  if (withBlock) {
    columns.push(
      { name: 'Block', class: 'number wide', cell: mined(({ block }) => <BlockLink height={block.height} />) },
      { name: 'Age', class: 'number', cell: mined(({ block }) => <Ago at={block.time} />) },
    );
  }
  return <Table label={label} columns={columns} rows={transactions} keyOf={({ tx_id }) => tx_id} empty={empty} />;
}

/** A table of pending transactions, with the time since each was received. */
export function PendingTable({
  label,
  transactions,
  empty,
}: {
  label: string;
  transactions: readonly ListedPending[];
  empty: string;
}) {
  const columns: Column<Listed>[] = [
    ID,
    KIND,
    ACTION,
    SENDER,
    { ...FEE, class: 'number medium' },
    { name: 'Nonce', class: 'number wide', cell: ({ sender }) => sender.nonce },
    {
      name: 'Received',
      class: 'number',
      cell: (transaction) => ('receipt_time' in transaction ? <Ago at={transaction.receipt_time} /> : null),
    },
  ];
  return <Table label={label} columns={columns} rows={transactions} keyOf={({ tx_id }) => tx_id} empty={empty} />;
}
