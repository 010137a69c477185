/** The page of the mempool: statistics by type and by fee, and the list of pending transactions. */
import { useState } from 'preact/hooks';
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion, useSubscription } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { type Bar, mergedRanges } from '../../chain/chart.ts';
import { bytes, count, plural, stxText } from '../../chain/format.ts';
import { kindOf } from '../../chain/transaction.ts';
import { Empty, Page, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { place, withQuery } from '../../ui/router.ts';
import { PendingTable } from '../../ui/transactions.tsx';
import { Ago, TxLink } from '../../ui/values.tsx';

const PER_PAGE = 50;

const TYPES = ['token_transfer', 'contract_call', 'smart_contract'] as const;
type PendingType = (typeof TYPES)[number];

/** The type of pending transactions in the query; null for all. */
const typeOf = (asked: string | null): PendingType | null => TYPES.find((type) => type === asked) ?? null;

export function Mempool() {
  const [update, setUpdate] = useState(0);
  useSubscription({ event: 'mempool' }, () => setUpdate((before) => before + 1));
  const version = `${tipVersion.value} ${update}`;
  const stats = useAnswer('stats', (signal) => bodyOf(api.GET('/extended/v1/tx/mempool/stats', { signal })), version);
  const type = typeOf(place.value.query.get('type'));
  return (
    <Page title="Mempool" lead="Transactions that wait for a block. The page updates by itself.">
      <div class="columns">
        <Panel title="By type" source="/extended/v1/tx/mempool/stats">
          <Show loaded={stats}>{(found) => <TypeTable stats={found} />}</Show>
        </Panel>
        <FeeTable />
      </div>
      <FeeDistribution type={type} version={version} />
      {type === null ? <Newest version={version} /> : <OfType type={type} version={version} />}
    </Page>
  );
}

/** The distribution of fees over pending transactions, all or of one type, and the oldest pending transaction. */
function FeeDistribution({ type, version }: { type: PendingType | null; version: string }) {
  const distribution = useAnswer(
    'fee distribution',
    (signal) => bodyOf(api.GET('/stackside/v1/mempool', { signal })),
    version,
  );
  const oldest = distribution.data?.oldest ?? null;
  return (
    <Panel
      title={type === null ? 'By fee' : `By fee: ${kindOf(type)}`}
      source="/stackside/v1/mempool"
      aside={
        oldest === null ? null : (
          <span>
            Oldest: <TxLink id={oldest.tx_id} /> <Ago at={oldest.receipt_time} />
          </span>
        )
      }
    >
      <Show loaded={distribution}>
        {({ fees }) => (
          <Histogram
            label="Pending transactions by fee"
            bars={mergedRanges(fees.filter((one) => type === null || one.type === type).map(({ ranges }) => ranges))}
          />
        )}
      </Show>
    </Panel>
  );
}

/** All pending transactions, newest first. */
function Newest({ version }: { version: string }) {
  const cursor = place.value.query.get('cursor');
  const query = { limit: PER_PAGE, ...(cursor === null ? {} : { cursor }) };
  const pending = useAnswer(
    `mempool ${cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/mempool/transactions', { params: { query }, signal })),
    version,
  );
  return (
    <Panel
      title="Newest first"
      source={`/extended/v3/mempool/transactions?limit=${PER_PAGE}`}
      aside={<TypeFilter shown={null} />}
    >
      <Show loaded={pending} rows={10}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <PendingTable label="Pending transactions" transactions={results} empty="No transaction is pending." />
            <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

/** Pending transactions of one type, highest fee first. */
function OfType({ type, version }: { type: PendingType; version: string }) {
  const cursor = place.value.query.get('cursor');
  const query = { type: [type], limit: PER_PAGE, ...(cursor === null ? {} : { cursor }) };
  const pending = useAnswer(
    `mempool ${type} ${cursor}`,
    (signal) => bodyOf(api.GET('/stackside/v1/mempool/transactions', { params: { query }, signal })),
    version,
  );
  return (
    <Panel
      title="Highest fee first"
      source={`/stackside/v1/mempool/transactions?type=${type}&limit=${PER_PAGE}`}
      aside={<TypeFilter shown={type} />}
    >
      <Show loaded={pending} rows={10}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <PendingTable
              label="Pending transactions of a type"
              transactions={results}
              empty="No transaction of this type is pending."
            />
            <Pager next={next} previous={previous} total={total === null ? '' : plural(total, 'transaction')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

const TypeFilter = ({ shown }: { shown: PendingType | null }) => (
  <nav class="filter" aria-label="Type">
    {[null, ...TYPES].map((type) => (
      <a key={type} href={withQuery({ type, cursor: null })} aria-current={type === shown ? 'true' : undefined}>
        {type === null ? 'All' : kindOf(type)}
      </a>
    ))}
  </nav>
);

type Stats = Answer<'/extended/v1/tx/mempool/stats'>;

/** An age in blocks as text. */
const age = (blocks: number | null | undefined): string => (blocks == null ? '–' : plural(Math.round(blocks), 'block'));
const fee = (micro: number | null | undefined): string => (micro == null ? '–' : stxText(String(Math.round(micro))));

/** Pending transactions by type, with median fee, size and age. */
export const TypeTable = ({ stats }: { stats: Stats }) => (
  <Table
    label="Pending transactions by type"
    rows={TYPES}
    keyOf={(type) => type}
    empty=""
    columns={[
      { name: 'Type', class: 'nowrap', cell: (type) => kindOf(type) },
      { name: 'Pending', class: 'number', cell: (type) => count(stats.tx_type_counts[type]) },
      { name: 'Median fee', class: 'number', cell: (type) => fee(stats.tx_simple_fee_averages[type].p50) },
      {
        name: 'Median size',
        class: 'number medium',
        cell: (type) => {
          const size = stats.tx_byte_sizes[type].p50;
          return size == null ? '–' : bytes(Math.round(size));
        },
      },
      { name: 'Median age', class: 'number medium', cell: (type) => age(stats.tx_ages[type].p50) },
    ]}
  />
);

const estimate = (micro: number | undefined) =>
  micro === undefined ? <span class="quiet">no estimate</span> : fee(micro);

const PRIORITIES = [
  ['no_priority', 'None'],
  ['low_priority', 'Low'],
  ['medium_priority', 'Medium'],
  ['high_priority', 'High'],
] as const;

/** Fees of pending transactions by priority. */
export function FeeTable() {
  const fees = useAnswer(
    'fees',
    (signal) => bodyOf(api.GET('/extended/v2/mempool/fees', { signal })),
    tipVersion.value,
  );
  return (
    <Panel title="Fees" source="/extended/v2/mempool/fees">
      <Show loaded={fees}>
        {({ all, token_transfer: transfer, contract_call: call }) => (
          <Table
            label="Fees by priority"
            // The fees are those that others offer: while nothing waits, there is nothing to go by.
            rows={all.high_priority === 0 ? [] : PRIORITIES}
            keyOf={([priority]) => priority}
            empty="No estimate: no transaction is pending."
            columns={[
              { name: 'Priority', cell: ([, title]) => title },
              { name: 'Any', class: 'number', cell: ([priority]) => fee(all[priority]) },
              { name: 'Transfer', class: 'number medium', cell: ([priority]) => estimate(transfer?.[priority]) },
              { name: 'Contract call', class: 'number medium', cell: ([priority]) => estimate(call?.[priority]) },
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}

/** The range of a bar as text. */
const range = ({ from, to }: Bar): string =>
  to === null ? `${stxText(String(from))} and more` : `${stxText(String(from))} to ${stxText(String(to))}`;

/** A histogram of fees. @param bars bounds in micro-STX */
function Histogram({ label, bars: shown }: { label: string; bars: readonly Bar[] }) {
  const most = Math.max(...shown.map((bar) => bar.count));
  if (shown.length === 0) return <Empty>No transaction is pending.</Empty>;
  return (
    <table class="histogram" aria-label={label}>
      <thead class="sr-only">
        <tr>
          <th scope="col">Fee</th>
          <th scope="col">Transactions</th>
        </tr>
      </thead>
      <tbody>
        {shown.map((bar) => (
          <tr key={bar.from}>
            <th scope="row" class="range">
              {range(bar)}
            </th>
            <td class="share">
              {bar.count === 0 ? null : <span class="bar-fill" style={{ width: `${(88 * bar.count) / most}%` }} />}{' '}
              {count(bar.count)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
