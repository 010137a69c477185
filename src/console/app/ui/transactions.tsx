/** Transactions as sentences and in tables. */
import { api, bodyOf } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { useAnswer } from '../api/use-answer.ts';
import type { ChosenFilters } from '../chain/filters.ts';
import { stxText } from '../chain/format.ts';
import { action, fateOf, kindOf, type Part, STATUSES } from '../chain/transaction.ts';
import type { ListedPending, ListedTransaction } from '../chain/types.ts';
import { nothingMatches } from './filters.tsx';
import { type Column, Empty, listQuery, Pager, PER_PAGE, Show, Table } from './parts.tsx';
import { pathTo } from './router.ts';
import { Ago, Badge, BlockLink, Principal, TxLink } from './values.tsx';

/** Renders a sentence with links for its principals and functions. */
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

const TONES = { done: 'ok', failed: 'bad', pending: 'wait', dropped: 'plain' } as const;

/** Renders the status of a transaction as a badge. */
export const Status = ({ status }: { status: string }) => (
  <Badge tone={TONES[fateOf(status)]}>{STATUSES[status as keyof typeof STATUSES] ?? 'Dropped'}</Badge>
);

type Listed = ListedTransaction | ListedPending;

const ACTION: Column<Listed> = {
  name: 'Action',
  class: 'main',
  cell: (transaction) => <Sentence parts={action(transaction)} />,
};
const KIND: Column<Listed> = { name: 'Type', class: 'wide nowrap', cell: ({ type }) => kindOf(type) };
const SENDER: Column<Listed> = {
  name: 'From',
  class: 'nowrap',
  label: 'from',
  cell: ({ sender }) => <Principal principal={sender.address} />,
};
const FEE: Column<Listed> = {
  name: 'Fee',
  class: 'number wide',
  label: 'fee',
  cell: ({ fee_rate }) => <Fee micro={fee_rate} />,
};
const STATUS: Column<Listed> = {
  name: 'Status',
  class: 'nowrap',
  cell: ({ status }) => <MinedStatus status={status} />,
};
const ID: Column<Listed> = { name: 'Transaction', class: 'nowrap', cell: ({ tx_id }) => <TxLink id={tx_id} /> };

/** Renders a fee in a table. */
export const Fee = ({ micro }: { micro: string }) => (
  <span class={micro === '0' ? 'quiet' : ''}>{micro === '0' ? 'none' : stxText(micro)}</span>
);

/** Renders the status of a mined transaction in a table, unless it is success. */
export const MinedStatus = ({ status }: { status: string }) =>
  status === 'success' ? <span class="quiet">Success</span> : <Status status={status} />;

const mined = (cell: (transaction: ListedTransaction) => ReturnType<Column<Listed>['cell']>) => (transaction: Listed) =>
  'block' in transaction ? cell(transaction) : null;

const AGE: Column<Listed> = {
  name: 'Age',
  class: 'number when',
  cell: mined(({ block }) => <Ago chain at={block.time} />),
};

/** Renders the newest transactions in a narrow panel. */
export const NewestTransactionTable = ({ transactions }: { transactions: readonly ListedTransaction[] }) => (
  <Table
    label="Newest transactions"
    columns={[ACTION, { ...STATUS, class: 'nowrap wide' }, KIND, { ...FEE, class: 'number' }, AGE]}
    rows={transactions}
    keyOf={({ tx_id }) => tx_id}
    empty="No transaction has arrived yet."
    stacked
  />
);

interface ListProps {
  label: string;
  transactions: readonly ListedTransaction[];
  empty: string;
  /** Whether rows have columns for block and age (default: true). */
  withBlock?: boolean;
}

/** Renders a table of mined transactions. */
export function TransactionTable({ label, transactions, empty, withBlock = true }: ListProps) {
  const columns: Column<Listed>[] = [ACTION, STATUS, KIND, SENDER, FEE, ID];
  if (withBlock) {
    columns.push(
      {
        name: 'Block',
        class: 'number wide',
        label: 'block',
        cell: mined(({ block }) => <BlockLink height={block.height} />),
      },
      AGE,
    );
  }
  return (
    <Table label={label} columns={columns} rows={transactions} keyOf={({ tx_id }) => tx_id} empty={empty} stacked />
  );
}

/** Renders a table of pending transactions, with the time since each was received. */
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
    ACTION,
    KIND,
    SENDER,
    { ...FEE, class: 'number' },
    { name: 'Nonce', class: 'number wide', label: 'nonce', cell: ({ sender }) => sender.nonce },
    {
      name: 'Received',
      class: 'number when',
      cell: (transaction) => ('receipt_time' in transaction ? <Ago at={transaction.receipt_time} /> : null),
    },
    ID,
  ];
  return (
    <Table label={label} columns={columns} rows={transactions} keyOf={({ tx_id }) => tx_id} empty={empty} stacked />
  );
}

/** Returns the API path of the transactions that meet conditions. */
export const searchPath = (conditions: ChosenFilters['conditions'], principal?: string): string => {
  const given = { ...conditions, ...(principal === undefined ? {} : { principal }), limit: PER_PAGE };
  const query = Object.entries(given).map(([name, value]) => [name, String(value)]);
  return `/stackside/v1/transactions?${new URLSearchParams(query)}`;
};

interface FoundProps {
  /** Null if a filter is invalid: then no request is made. */
  conditions: ChosenFilters['conditions'];
  /** The principal that the transactions concern; undefined for any. */
  principal?: string;
  /** When it changes, the list is read again. */
  version?: string;
}

/** Renders the transactions of the chain that meet conditions, newest first. */
export const FoundTransactions = ({ conditions, ...others }: FoundProps) =>
  conditions === null ? (
    <Empty>A filter is wrong: see above.</Empty>
  ) : (
    <FilteredTransactions conditions={conditions} {...others} />
  );

function FilteredTransactions({ conditions, principal, version = tipVersion.value }: FoundProps) {
  const query = { ...listQuery(), ...conditions, ...(principal === undefined ? {} : { principal }) };
  const transactions = useAnswer(
    `found ${JSON.stringify(query)}`,
    (signal) => bodyOf(api.GET('/stackside/v1/transactions', { params: { query }, signal })),
    version,
  );
  return (
    <Show loaded={transactions} rows={12}>
      {({ results, cursor: { next, previous } }) => (
        <>
          <TransactionTable label="Transactions" transactions={results} empty={nothingMatches(next !== null)} />
          <Pager next={next} previous={previous} />
        </>
      )}
    </Show>
  );
}
