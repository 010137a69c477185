/** What waits to be mined: in figures, by fee, and one by one. */
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion, useSubscription } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural } from '../../chain/format.ts';
import { mergedRanges } from '../../chain/histogram.ts';
import { kindOf } from '../../chain/summary.ts';
import { Histogram } from '../../ui/histogram.tsx';
import { Page, Pager, Panel, Show } from '../../ui/parts.tsx';
import { place, withQuery } from '../../ui/router.ts';
import { PendingTable } from '../../ui/transactions.tsx';
import { Ago, TxLink } from '../../ui/values.tsx';
import { FeeTable, TypeTable } from './mempool-tables.tsx';

const PER_PAGE = 50;

const TYPES = ['token_transfer', 'contract_call', 'smart_contract'] as const;
type PendingType = (typeof TYPES)[number];

/** The type that the address names; null for all. */
const typeOf = (asked: string | null): PendingType | null => TYPES.find((type) => type === asked) ?? null;

export function Mempool() {
  const [update, setUpdate] = useState(0);
  useSubscription({ event: 'mempool' }, () => setUpdate((before) => before + 1));
  const version = `${tipVersion.value} ${update}`;
  const stats = useAnswer('stats', (signal) => bodyOf(api.GET('/extended/v1/tx/mempool/stats', { signal })), version);
  const type = typeOf(place.value.query.get('type'));
  return (
    <Page title="Mempool" lead="Transactions that no block holds yet. The page follows the node.">
      <div class="columns">
        <Panel title="By type" source="/extended/v1/tx/mempool/stats">
          <Show loaded={stats}>{(found) => <TypeTable stats={found} />}</Show>
        </Panel>
        <FeeTable />
      </div>
      <Spread type={type} version={version} />
      {type === null ? <Newest version={version} /> : <OfType type={type} version={version} />}
    </Page>
  );
}

/** How the fees are spread of all that waits, or of one type; and what waits the longest. */
function Spread({ type, version }: { type: PendingType | null; version: string }) {
  const spread = useAnswer('spread', (signal) => bodyOf(api.GET('/stackside/v1/mempool', { signal })), version);
  const oldest = spread.data?.oldest ?? null;
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
      <Show loaded={spread}>
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

/** All that waits, newest first. */
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
            <PendingTable label="Pending transactions" transactions={results} empty="Nothing waits." />
            <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

/** What waits of one type, in the order in which fees have it mined. */
function OfType({ type, version }: { type: PendingType; version: string }) {
  const cursor = place.value.query.get('cursor');
  const query = { type, limit: PER_PAGE, ...(cursor === null ? {} : { cursor }) };
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
              empty="Nothing of this type waits."
            />
            <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
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
