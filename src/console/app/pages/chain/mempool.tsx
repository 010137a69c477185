/** The page of the mempool: expected blocks, the list of pending transactions, and statistics by type and by fee. */

import type { Answer } from '../../api/api.ts';
import { tipVersion, useUpdates } from '../../api/live.ts';
import { type Loaded, mapLoaded, useGet } from '../../api/use-answer.ts';
import { blockTitle, expectedBlockText, type Projection, projectionNotes } from '../../chain/blocks.ts';
import { type Bar, mergeRanges } from '../../chain/chart.ts';
import { type ChosenFilters, PENDING_FILTERS, parseFilters } from '../../chain/filters.ts';
import { bytes, count, plural, stxText } from '../../chain/format.ts';
import { kindOf } from '../../chain/transaction.ts';
import { FilteredPanel, nothingMatches } from '../../ui/filters.tsx';
import {
  Choices,
  choiceOf,
  DataPanel,
  List,
  ListPanel,
  Page,
  Panel,
  PER_PAGE,
  Show,
  Table,
  useList,
} from '../../ui/parts.tsx';
import { pathTo, url, withQuery } from '../../ui/router.ts';
import { idOf, PENDING_COLUMNS } from '../../ui/transactions.tsx';
import { Ago, Principal, Stx, TxLink } from '../../ui/values.tsx';
import { BlockStrip } from './strip.tsx';

const TYPES = ['token_transfer', 'contract_call', 'smart_contract'] as const;

/** Returns a version that changes with each new transaction and each block. */
export const useMempoolVersion = (): string => `${tipVersion.value} ${useUpdates({ event: 'mempool' })}`;

export function Mempool() {
  const version = useMempoolVersion();
  const { query } = url.value;
  const chosen = parseFilters(query, PENDING_FILTERS);
  const block = Number(query.get('block'));
  return (
    <Page title="Mempool" lead="Transactions that wait for a block. The page updates by itself.">
      <ExpectedBlocks version={version} />
      {Number.isSafeInteger(block) && block > 0 ? <InBlock block={block} version={version} /> : null}
      <Pending chosen={chosen} version={version} />
      <div class="grid">
        <DataPanel title="By type" loaded={useGet('/extended/v1/tx/mempool/stats', {}, version)}>
          {(stats) => <TypeTable stats={stats} />}
        </DataPanel>
        <Panel title="Fees" source="/extended/v2/mempool/fees">
          <Fees />
        </Panel>
      </div>
      <FeeDistribution type={TYPES.find((type) => type === query.get('type')) ?? null} version={version} />
    </Page>
  );
}

/** Reads the blocks that the pending transactions would fill. */
export const useExpectedBlocks = (version: string): Loaded<Projection> =>
  useGet('/stackside/v1/mempool/blocks', {}, version);

function ExpectedBlocks({ version }: { version: string }) {
  const expected = useExpectedBlocks(version);
  return (
    <Panel title="Expected blocks" source={expected.source}>
      <BlockStrip expected={expected} />
      <ul class="panel-body quiet tiny">
        <li>
          The blocks that the pending transactions would fill if no other came: the highest fee for cost and size comes
          first, and each account’s nonces come in their order. What a call costs is estimated from earlier ones.
        </li>
        {expected.data === null ? null : projectionNotes(expected.data).map((note) => <li key={note}>{note}</li>)}
      </ul>
    </Panel>
  );
}

const InBlock = ({ block, version }: { block: number; version: string }) => (
  <ListPanel
    title={blockTitle(block)}
    label="Transactions of the expected block"
    loaded={useGet('/stackside/v1/mempool/blocks/{block}/transactions', { block, limit: PER_PAGE }, version)}
    aside={
      <>
        <span class="quiet">in the order of a miner</span> <a href={withQuery({ block: null })}>Close</a>
      </>
    }
    item="transaction"
    columns={PENDING_COLUMNS}
    keyOf={idOf}
    empty="Fewer blocks would be filled now."
    stacked
  />
);

const ORDERS = [
  ['age', 'Newest first'],
  ['fee', 'Highest fee first'],
] as const;

function Pending({ chosen, version }: { chosen: ChosenFilters; version: string }) {
  const order = choiceOf('sort', ORDERS);
  return (
    <FilteredPanel
      title="Pending transactions"
      chosen={chosen}
      source={`/stackside/v1/mempool/transactions?sort_by=${order}&limit=${PER_PAGE}`}
      aside={<Choices label="Order" name="sort" choices={ORDERS} chosen={order} />}
    >
      {(conditions) => (
        <MatchingPending conditions={{ ...conditions, sort_by: order }} version={version} isActive={chosen.isActive} />
      )}
    </FilteredPanel>
  );
}

interface MatchingPendingProps {
  conditions: NonNullable<ChosenFilters['conditions']> & { sort_by: (typeof ORDERS)[number][0] };
  version: string;
  isActive: boolean;
}

const MatchingPending = ({ conditions, version, isActive }: MatchingPendingProps) => (
  <List
    label="Pending transactions"
    loaded={useList('/stackside/v1/mempool/transactions', conditions, version)}
    item="transaction"
    columns={PENDING_COLUMNS}
    keyOf={idOf}
    empty={({ cursor: { next } }) => (isActive ? nothingMatches(next !== null) : 'No transaction is pending.')}
    stacked
  />
);

/** Renders the position of a pending transaction, what it waits for, and the fee for the next block. */
export function QueuePosition({ position }: { position: Answer<'/stackside/v1/mempool/transactions/{tx_id}'> }) {
  const { projected, awaits, fee_for_next_block: fee } = position;
  return (
    <>
      {projected === null ? null : (
        <p>
          Currently number {count(projected.place)} of{' '}
          <a href={pathTo('mempool', { block: projected.block })}>{expectedBlockText(projected.block)}</a>.
        </p>
      )}
      {awaits.map((obstacle) =>
        obstacle.for === 'balance' ? (
          <p key={`balance ${obstacle.principal}`}>
            It can’t be mined: <Principal principal={obstacle.principal} /> has <Stx micro={obstacle.available} /> that
            it may spend, and <Stx micro={obstacle.needed} /> are needed.
          </p>
        ) : (
          <p key={`nonce ${obstacle.principal}`}>
            It waits for nonce {obstacle.nonce} of <Principal principal={obstacle.principal} />
            {obstacle.tx_id === null ? (
              ', which is missing: nobody has sent a transaction with it.'
            ) : (
              <>
                : the transaction <TxLink id={obstacle.tx_id} /> has it, and waits, too.
              </>
            )}
          </p>
        ),
      )}
      {projected === null && awaits.length === 0 ? <p>It is in none of the expected blocks.</p> : null}
      {fee !== null && projected !== null && projected.block > 1 ? (
        <p>
          A fee of <Stx micro={fee} /> would put it into the next block.
        </p>
      ) : null}
    </>
  );
}

function FeeDistribution({ type, version }: { type: (typeof TYPES)[number] | null; version: string }) {
  const distribution = useGet('/stackside/v1/mempool', {}, version);
  const { oldest = null, fees = [] } = distribution.data ?? {};
  const bars = mergeRanges(fees.filter((entry) => type === null || entry.type === type).map(({ ranges }) => ranges));
  const largest = Math.max(...bars.map((bar) => bar.count));
  return (
    <ListPanel
      title={type === null ? 'By fee' : `By fee: ${kindOf(type)}`}
      label="Pending transactions by fee"
      loaded={mapLoaded(distribution, () => ({ results: bars }))}
      aside={
        oldest === null ? null : (
          <span>
            Oldest: <TxLink id={oldest.tx_id} /> <Ago time={oldest.receipt_time} />
          </span>
        )
      }
      keyOf={({ from }) => String(from)}
      empty={type === null ? 'No transaction is pending.' : 'No transaction of this type is pending.'}
      columns={[
        ['Fee', 'half', range],
        [
          'Transactions',
          'half',
          (bar) => (
            <span class="meter">
              <progress max={largest} value={bar.count} aria-hidden="true" />
              <span class="number">{count(bar.count)}</span>
            </span>
          ),
        ],
      ]}
    />
  );
}

type Stats = Answer<'/extended/v1/tx/mempool/stats'>;

/** Returns the number of pending transactions. */
export const pendingCount = ({ tx_type_counts: counts }: Stats): number =>
  Object.values(counts).reduce((sum, number) => sum + number, 0);

const age = (blocks: number | null | undefined): string => (blocks == null ? '–' : plural(Math.round(blocks), 'block'));
const fee = (micro: number | null | undefined): string => (micro == null ? '–' : stxText(String(Math.round(micro))));

/** Renders the pending transactions by type, with median fee, size and age. */
export const TypeTable = ({ stats }: { stats: Stats }) => (
  <Table
    label="Pending transactions by type"
    rows={TYPES}
    keyOf={(type) => type}
    columns={[
      ['Type', 'nowrap', (type) => kindOf(type)],
      ['Pending', 'number', (type) => count(stats.tx_type_counts[type])],
      ['Median fee', 'number', (type) => fee(stats.tx_simple_fee_averages[type].p50)],
      [
        'Median size',
        'number medium',
        (type) => {
          const size = stats.tx_byte_sizes[type].p50;
          return size == null ? '–' : bytes(Math.round(size));
        },
      ],
      ['Median age', 'number medium', (type) => age(stats.tx_ages[type].p50)],
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

/** Renders the fees of pending transactions by priority. */
export function Fees() {
  return (
    <Show loaded={useGet('/extended/v2/mempool/fees', {}, tipVersion.value)}>
      {({ all, token_transfer: transfer, contract_call: call }) => (
        <Table
          label="Fees by priority"
          // The estimates use the fees of pending transactions. If none is pending, there are no estimates.
          rows={all.high_priority === 0 ? [] : PRIORITIES}
          keyOf={([priority]) => priority}
          empty="No estimate: no transaction is pending."
          columns={[
            ['Priority', '', ([, title]) => title],
            ['Any type', 'number', ([priority]) => fee(all[priority])],
            ['Transfer', 'number medium', ([priority]) => estimate(transfer?.[priority])],
            ['Contract call', 'number medium', ([priority]) => estimate(call?.[priority])],
          ]}
        />
      )}
    </Show>
  );
}

const range = ({ from, to }: Bar): string =>
  to === null ? `${stxText(String(from))} and more` : `${stxText(String(from))} to ${stxText(String(to))}`;
