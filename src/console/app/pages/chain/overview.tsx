/** The overview: the state of the server and of the chain, the newest blocks, charts, the mempool. */
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { tip, tipVersion } from '../../api/live.ts';
import { actingFor, readSession, session } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { bytes, count, duration, plural } from '../../chain/format.ts';
import { failureLine, type Hook } from '../../chain/hooks.ts';
import { chainState, stateTitle } from '../../chain/state.ts';
import type { ServerStatus } from '../../chain/types.ts';
import { Chart } from '../../ui/chart.tsx';
import { now } from '../../ui/clock.ts';
import { Copy, Facts, type Figure, Figures, Page, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { useServerStatus } from '../../ui/server-status.ts';
import { WatchedHere } from '../../ui/tell-me.tsx';
import { NewestTransactionTable } from '../../ui/transactions.tsx';
import { Ago, ChainText, Count } from '../../ui/values.tsx';
import { BITCOIN_BLOCK_COLUMNS } from './bitcoin-block.tsx';
import { FirstRun } from './first-run.tsx';
import { Fees, TypeTable, useExpectedBlocks, useMempoolVersion } from './mempool.tsx';
import { BlockStrip, NEWEST_BLOCKS, StripLegend } from './strip.tsx';

export function Overview() {
  const status = useServerStatus();
  return (
    <Page title="Overview">
      <Show loaded={status} rows={2}>
        {(server) => <>{server.index.height === null ? <BeforeBlocks status={server} /> : <Chain status={server} />}</>}
      </Show>
    </Page>
  );
}

/** Renders the page of a server without a block: the way to the first one. */
const BeforeBlocks = ({ status }: { status: ServerStatus }) => (
  <>
    <FirstRun status={status} />
    <Server status={status} />
  </>
);

function Chain({ status }: { status: ServerStatus }) {
  const version = tipVersion.value;
  const times = useAnswer(
    'block times',
    (signal) => bodyOf(api.GET('/extended/v2/blocks/average-times', { signal })),
    version,
  );
  const mempool = useAnswer(
    'mempool',
    (signal) => bodyOf(api.GET('/extended/v1/tx/mempool/stats', { signal })),
    version,
  );
  const pending =
    mempool.data === null ? null : Object.values(mempool.data.tx_type_counts).reduce((sum, one) => sum + one, 0);
  return (
    <>
      <State status={status} />
      <FailingHooks />
      <Blocks />
      <Figures label="The chain now" figures={chainFigures(status, times.data?.last_1h ?? null, pending)} />
      <WatchedHere />
      <div class="grid">
        <NewestTransactions />
        <Panel
          title="Mempool"
          source="/extended/v1/tx/mempool/stats"
          aside={<a href={pathTo('mempool')}>{pending === null ? 'All' : plural(pending, 'transaction')}</a>}
        >
          <Show loaded={mempool}>{(stats) => <TypeTable stats={stats} />}</Show>
          <Fees />
        </Panel>
      </div>
      <ActivityCharts />
      <div class="grid">
        <NewestBitcoinBlocks />
        <Server status={status} />
      </div>
    </>
  );
}

function chainFigures(
  { index, node, events }: ServerStatus,
  blockTime: number | null,
  pending: number | null,
): Figure[] {
  const { height, tip_age_seconds: age } = index;
  const figures: Figure[] = [
    {
      name: 'Stacks height',
      value: height === null ? '–' : <a href={pathTo('block', { id: height })}>{count(height)}</a>,
      note:
        age === null ? (
          'no block yet'
        ) : (
          <>
            newest block <Ago at={now.value - age} chain />
          </>
        ),
    },
    {
      name: 'Node’s height',
      value: node.height === null ? '–' : count(node.height),
      note: node.height === null ? 'the node does not answer' : lag(height, node.height),
    },
    {
      name: 'Bitcoin height',
      value: tip.value === null ? '–' : <Count value={tip.value.burnBlockHeight} />,
    },
    {
      name: 'Block time',
      value: blockTime === null || blockTime === 0 ? '–' : duration(blockTime),
      note: 'average of the last hour',
    },
    { name: 'Pending', value: pending === null ? '–' : count(pending), note: 'transactions' },
  ];
  if (events !== null) {
    figures.push({
      name: 'Events',
      value: `${Number(events.per_second.toPrecision(2))}/s`,
      note: 'over the last minute',
    });
  }
  return figures;
}

/** Maximum number of failing chainhooks on the overview. */
const MAX_FAILING = 5;

/** Renders the failing chainhooks that this browser may manage; null if there are none. */
function FailingHooks() {
  const failing = useAnswer(
    'failing hooks',
    async (signal) => {
      const { signed_in: isSignedIn, operator: isOperator } = session.value ?? (await readSession(signal));
      if (!isSignedIn) return [];
      const consumers = isOperator
        ? (await bodyOf(api.GET('/chainhooks/consumers', { signal }))).results.filter((one) => one.failing > 0)
        : [{ consumer: null }];
      const params = { query: { limit: MAX_FAILING, failing: true } };
      const hooks: Hook[] = [];
      for (const { consumer } of consumers) {
        if (hooks.length >= MAX_FAILING) break;
        const headers = actingFor(consumer);
        hooks.push(...(await bodyOf(api.GET('/chainhooks/me', { params, headers, signal }))).results);
      }
      return hooks.slice(0, MAX_FAILING);
    },
    `${tipVersion.value} ${Math.floor(now.value / HOOKS_EVERY)}`,
  );
  const hooks = failing.data ?? [];
  if (hooks.length === 0) return null;
  return (
    <section class="note stack bad" aria-label="Failing chainhooks" aria-live="polite">
      <h2>
        <a href={pathTo('hooks')}>Failing chainhooks</a>
      </h2>
      <ul>
        {hooks.map((hook) => (
          <li key={hook.uuid} class="break">
            <a href={pathTo('hook', { id: hook.uuid })}>
              <ChainText text={hook.definition.name === '' ? hook.uuid : hook.definition.name} />
            </a>
            : {failureLine(hook, now.value)}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Describes how far the index is behind the node. */
function lag(height: number | null, nodeHeight: number): string {
  const behind = nodeHeight - (height ?? 0);
  return behind <= 0 ? 'the index is up to date' : `the index is ${plural(behind, 'block')} behind`;
}

/** Seconds between reads of failing chainhooks. */
const HOOKS_EVERY = 5;

const AWAY =
  'The node’s RPC interface does not answer. Check that the node runs, and check --node-rpc. Indexed data stays available.';

/** Renders the state of a server with the next step; null if it is live and its node answers. */
function State({ status }: { status: ServerStatus }) {
  const { state, reason, next, observer, node, index } = status;
  if (state === 'live' && node.height !== null) return null;
  const { tone } = chainState(status, false);
  const isLive = state === 'live';
  return (
    <section
      class={`note stack ${tone === 'bad' ? 'bad' : 'wait'}`}
      aria-label="State of the server"
      aria-live="polite"
    >
      <div class="row spread">
        <h2>{isLive ? 'The node is away' : stateTitle(state)}</h2>
        {observer === null ? null : <Copy text={observer} what="configuration" />}
      </div>
      <p>{isLive ? AWAY : reason}</p>
      {isLive ? null : <p>{next}</p>}
      {observer === null ? null : <pre class="code scroll boxed">{observer}</pre>}
      {state === 'starting' || state === 'catching_up' ? (
        <CatchingUp height={index.height ?? 0} nodeHeight={node.height ?? 0} />
      ) : null}
    </section>
  );
}

/** Renders the indexed share of the node's chain. */
function CatchingUp({ height, nodeHeight }: { height: number; nodeHeight: number }) {
  if (nodeHeight <= height) return null;
  return <progress aria-label="Blocks indexed" max={nodeHeight} value={height} />;
}

const NEWEST_BITCOIN = 6;

function NewestBitcoinBlocks() {
  const params = { query: { limit: NEWEST_BITCOIN } };
  const blocks = useAnswer(
    'newest bitcoin blocks',
    (signal) => bodyOf(api.GET('/extended/v2/burn-blocks', { params, signal })),
    tipVersion.value,
  );
  return (
    <Panel
      title="Bitcoin blocks"
      source={`/extended/v2/burn-blocks?limit=${NEWEST_BITCOIN}`}
      aside={<a href={pathTo('bitcoinBlocks')}>All</a>}
    >
      <Show loaded={blocks}>
        {({ results }) => (
          <Table
            label="Newest Bitcoin blocks"
            columns={BITCOIN_BLOCK_COLUMNS.filter(({ name }) => name !== 'Hash')}
            rows={results}
            keyOf={({ burn_block_hash: hash }) => hash}
            empty="No Bitcoin block has arrived yet."
          />
        )}
      </Show>
    </Panel>
  );
}

function Server({ status }: { status: ServerStatus }) {
  const { disk, memory_bytes: memory, uptime_seconds: uptime, server_version: version, mode, events, index } = status;
  const { history_from: from } = index;
  return (
    <Panel title="Server" source="/stackside/v1/status" aside={<a href={pathTo('system')}>All</a>}>
      <Facts
        facts={[
          ['Version', version],
          ['Mode', mode],
          ['History', from === undefined ? null : `from block ${count(from)} on`],
          ['Uptime', duration(uptime)],
          ['Memory', bytes(memory)],
          ['Index', bytes(disk.index_bytes)],
          ['Journal', disk.journal_bytes === 0 ? 'none' : bytes(disk.journal_bytes)],
          ['Free on the disk', disk.free_bytes === null ? null : bytes(disk.free_bytes)],
          ['Event endpoint', events === null ? null : <code key="endpoint">{events.endpoint}</code>],
        ]}
      />
    </Panel>
  );
}

/** Renders the newest blocks and the expected ones, live. */
function Blocks() {
  const expected = useExpectedBlocks(useMempoolVersion());
  return (
    <Panel title="Newest blocks" source={NEWEST_BLOCKS} aside={<a href={pathTo('blocks')}>All</a>}>
      <BlockStrip expected={expected} />
      <StripLegend />
    </Panel>
  );
}

/** Number of the newest transactions on the overview. */
const NEWEST_TRANSACTIONS = 8;

function NewestTransactions() {
  const params = { query: { limit: NEWEST_TRANSACTIONS } };
  const transactions = useAnswer(
    'newest transactions',
    (signal) => bodyOf(api.GET('/extended/v3/transactions', { params, signal })),
    tipVersion.value,
  );
  return (
    <Panel
      title="Newest transactions"
      source={`/extended/v3/transactions?limit=${NEWEST_TRANSACTIONS}`}
      aside={<a href={pathTo('transactions')}>All</a>}
    >
      <Show loaded={transactions} rows={NEWEST_TRANSACTIONS}>
        {({ results }) => <NewestTransactionTable transactions={results} />}
      </Show>
    </Panel>
  );
}

/** Renders charts of transactions and blocks per hour or day. */
function ActivityCharts() {
  const [by, setBy] = useState<'hour' | 'day'>('day');
  const loaded = useAnswer(
    `blocks by ${by}`,
    (signal) => bodyOf(api.GET('/stackside/v1/blocks/counts', { params: { query: { by } }, signal })),
    tipVersion.value,
  );
  return (
    <Panel
      title="Activity"
      source={`/stackside/v1/blocks/counts?by=${by}`}
      aside={
        <div class="row small">
          {(['hour', 'day'] as const).map((choice) => (
            <button key={choice} type="button" class="link" aria-pressed={choice === by} onClick={() => setBy(choice)}>
              By {choice}
            </button>
          ))}
        </div>
      }
    >
      <Show loaded={loaded}>
        {({ counts }) => (
          <div class="grid">
            {(
              [
                ['Transactions', 'ok', counts.map(({ transactions }) => transactions)],
                ['Blocks', 'accent', counts.map(({ blocks }) => blocks)],
              ] as const
            ).map(([name, colour, values]) => (
              <Chart
                key={name}
                label={`${name} of each ${by}`}
                times={counts.map(({ start }) => start)}
                series={[{ name, colour, values }]}
                format={count}
                steps="whole"
                scale={by === 'hour' ? 'hour' : 'days'}
                drawn="bars"
                empty="No block has arrived yet."
              />
            ))}
          </div>
        )}
      </Show>
    </Panel>
  );
}
