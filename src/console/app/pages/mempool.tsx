/** What waits to be mined: in figures, by fee, and one by one. */
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../api/api.ts';
import { tipVersion, useSubscription } from '../api/live.ts';
import { useAnswer } from '../api/use-answer.ts';
import { plural } from '../chain/format.ts';
import { kindOf } from '../chain/summary.ts';
import type { ListedPending } from '../chain/types.ts';
import { place, withQuery } from '../shell/router.ts';
import { Histogram } from '../ui/histogram.tsx';
import { Page, Pager, Panel, Show } from '../ui/parts.tsx';
import { PendingTable } from '../ui/transactions.tsx';
import { FeeTable, TypeTable } from './mempool-tables.tsx';

const PER_PAGE = 50;

const FILTERS = [null, 'token_transfer', 'contract_call', 'smart_contract'] as const;

export function Mempool() {
  const [update, setUpdate] = useState(0);
  useSubscription({ event: 'mempool' }, () => setUpdate((before) => before + 1));
  const cursor = place.value.query.get('cursor');
  const query = { limit: PER_PAGE, ...(cursor === null ? {} : { cursor }) };
  const version = `${tipVersion.value} ${update}`;
  const pending = useAnswer(
    `mempool ${cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/mempool/transactions', { params: { query }, signal })),
    version,
  );
  const stats = useAnswer('stats', (signal) => bodyOf(api.GET('/extended/v1/tx/mempool/stats', { signal })), version);
  const type = place.value.query.get('type');
  const shown = (all: readonly ListedPending[]) => (type === null ? all : all.filter((one) => one.type === type));
  return (
    <Page title="Mempool" lead="Transactions that no block holds yet, newest first. The list follows the node.">
      <div class="columns">
        <Panel title="By type" source="/extended/v1/tx/mempool/stats">
          <Show loaded={stats}>{(found) => <TypeTable stats={found} />}</Show>
        </Panel>
        <FeeTable />
      </div>
      <Show loaded={pending} rows={10}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <Panel title={results.length === total ? 'By fee' : `By fee, the newest ${results.length}`}>
              <Histogram label="Pending transactions by fee" values={results.map(({ fee_rate: fee }) => Number(fee))} />
            </Panel>
            <Panel
              title="Pending"
              source={`/extended/v3/mempool/transactions?limit=${PER_PAGE}`}
              aside={<TypeFilter shown={type} />}
            >
              <PendingTable
                label="Pending transactions"
                transactions={shown(results)}
                empty={type === null ? 'Nothing waits.' : 'Nothing of this type waits on this page.'}
              />
              <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
            </Panel>
          </>
        )}
      </Show>
    </Page>
  );
}

const TypeFilter = ({ shown }: { shown: string | null }) => (
  <nav class="filter" aria-label="Type">
    {FILTERS.map((type) => (
      <a key={type} href={withQuery({ type })} aria-current={type === shown ? 'true' : undefined}>
        {type === null ? 'All' : kindOf(type)}
      </a>
    ))}
  </nav>
);
