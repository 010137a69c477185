/** The overview: the state of the server and of the chain, the newest blocks, charts, the mempool. */

import { get, type ServerStatus } from '../../api/api.ts';
import { tip, tipVersion } from '../../api/live.ts';
import { consumerHeaders, readSession, session } from '../../api/session.ts';
import { useAnswer, useGet } from '../../api/use-answer.ts';
import { bytes, count, duration, plural } from '../../chain/format.ts';
import { failureLine, type Hook } from '../../chain/hooks.ts';
import { firstSteps } from '../../chain/state.ts';
import { Chart } from '../../ui/chart.tsx';
import { every, now } from '../../ui/clock.ts';
import { Choices, choiceOf, DataPanel, type Figure, Figures, ListPanel, Page, Panel, Show } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { StateNote, useServerStatus } from '../../ui/server-status.tsx';
import { idOf, NEWEST_COLUMNS } from '../../ui/transactions.tsx';
import { Ago, Badge, HookLink } from '../../ui/values.tsx';
import { BITCOIN_BLOCK_COLUMNS, hashOfBitcoinBlock } from './bitcoin.tsx';
import { Fees, pendingCount, TypeTable, useExpectedBlocks, useMempoolVersion } from './mempool.tsx';
import { BlockStrip, NEWEST_BLOCKS, StripLegend } from './strip.tsx';

export function Overview() {
  const status = useServerStatus();
  return (
    <Page title="Overview">
      <Show loaded={status} rows={2}>
        {(server) => (server.index.height === null ? <BeforeBlocks status={server} /> : <Chain status={server} />)}
      </Show>
    </Page>
  );
}

function BeforeBlocks({ status }: { status: ServerStatus }) {
  const steps = firstSteps(status);
  const note = <StateNote status={status} label="Next step" />;
  return (
    <>
      <section class="panel" aria-label="First steps">
        <header class="panel-head row spread">
          <h2>Until the first block</h2>
        </header>
        <ol class="panel-body stack" aria-live="polite" aria-label="Checklist">
          {steps.map(({ name, text, progress }) => (
            <li key={name} class="stack">
              <p>
                <Badge tone={MARKS[progress][0]}>{MARKS[progress][1]}</Badge> <strong>{name}</strong> {text}
              </p>
              {progress === 'now' ? note : null}
            </li>
          ))}
        </ol>
        {steps.some(({ progress }) => progress === 'now') ? null : note}
      </section>
      <Server status={status} />
    </>
  );
}

const MARKS = { done: ['ok', 'done'], now: ['wait', 'next'], later: ['plain', 'open'] } as const;

function Chain({ status }: { status: ServerStatus }) {
  const version = tipVersion.value;
  const times = useGet('/extended/v2/blocks/average-times', {}, version);
  const mempool = useGet('/extended/v1/tx/mempool/stats', {}, version);
  const pending = mempool.data === null ? null : pendingCount(mempool.data);
  return (
    <>
      <StateNote status={status}>
        <CatchingUp status={status} />
      </StateNote>
      <FailingHooks />
      <Blocks />
      <Figures label="The chain now" figures={chainFigures(status, times.data?.last_1h ?? null, pending)} />
      <div class="grid">
        <NewestTransactions />
        <Panel
          title="Mempool"
          source={mempool.source}
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
    [
      'Stacks height',
      height === null ? '–' : <a href={pathTo('block', { id: height })}>{count(height)}</a>,
      age === null ? (
        'no block yet'
      ) : (
        <>
          newest block <Ago time={now.value - age} chain />
        </>
      ),
    ],
    [
      'Node’s height',
      node.height === null ? '–' : count(node.height),
      node.height === null ? 'the node does not answer' : lag(height, node.height),
    ],
    ['Bitcoin height', tip.value === null ? '–' : count(tip.value.burn_block_height)],
    ['Block time', blockTime === null || blockTime === 0 ? '–' : duration(blockTime), 'average of the last hour'],
    ['Pending', pending === null ? '–' : count(pending), 'transactions'],
  ];
  if (events !== null) {
    figures.push(['Events', `${Number(events.per_second.toPrecision(2))}/s`, 'over the last minute']);
  }
  return figures;
}

const MAX_FAILING = 5;

/** Requests the consumers with failing chainhooks that this browser may manage. The consumer null is the session's. */
async function loadFailingConsumers(signal: AbortSignal): Promise<(string | null)[]> {
  const { signed_in: isSignedIn, operator: isOperator } = session.value ?? (await readSession(signal));
  if (!isSignedIn) return [];
  if (!isOperator) return [null];
  const { results } = await get('/chainhooks/consumers', {}, signal);
  return results.filter(({ failing }) => failing > 0).map(({ consumer }) => consumer);
}

function FailingHooks() {
  const failing = useAnswer(
    'failing hooks',
    async (signal) => {
      const params = { limit: MAX_FAILING, failing: true };
      const hooks: Hook[] = [];
      for (const consumer of await loadFailingConsumers(signal)) {
        if (hooks.length >= MAX_FAILING) break;
        hooks.push(...(await get('/chainhooks/me', params, signal, consumerHeaders(consumer))).results);
      }
      return hooks.slice(0, MAX_FAILING);
    },
    `${tipVersion.value} ${every(HOOKS_EVERY)}`,
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
            <HookLink hook={hook} />: {failureLine(hook, now.value)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function lag(height: number | null, nodeHeight: number): string {
  const blocksBehind = nodeHeight - (height ?? 0);
  return blocksBehind <= 0 ? 'the index is up to date' : `the index is ${plural(blocksBehind, 'block')} behind`;
}

/** Seconds between reads of failing chainhooks. */
const HOOKS_EVERY = 5;

function CatchingUp({ status: { state, index, node } }: { status: ServerStatus }) {
  const [height, nodeHeight] = [index.height ?? 0, node.height ?? 0];
  const isBehind = (state === 'starting' || state === 'catching_up') && nodeHeight > height;
  return isBehind ? <progress aria-label="Blocks indexed" max={nodeHeight} value={height} /> : null;
}

const NewestBitcoinBlocks = () => (
  <ListPanel
    title="Bitcoin blocks"
    label="Newest Bitcoin blocks"
    loaded={useGet('/extended/v2/burn-blocks', { limit: 6 }, tipVersion.value)}
    aside={<a href={pathTo('bitcoinBlocks')}>All</a>}
    columns={BITCOIN_BLOCK_COLUMNS.filter(([name]) => name !== 'Hash')}
    keyOf={hashOfBitcoinBlock}
    empty="No Bitcoin block has arrived yet."
  />
);

function Server({ status }: { status: ServerStatus }) {
  const { disk, memory_bytes: memory, uptime_seconds: uptime, server_version: version, mode, events, index } = status;
  const { history_from: from } = index;
  return (
    <Panel
      title="Server"
      source="/stackside/v1/status"
      aside={<a href={pathTo('system')}>All</a>}
      facts={[
        ['Version', version],
        ['Mode', mode],
        ['History', from === undefined ? null : `from block ${count(from)} on`],
        ['Uptime', duration(uptime)],
        ['Memory', bytes(memory)],
        ['Index', bytes(disk.index_bytes)],
        ['Journal', disk.journal_bytes === 0 ? 'none' : bytes(disk.journal_bytes)],
        ['Free on the disk', disk.free_bytes === null ? null : bytes(disk.free_bytes)],
        ['Event endpoint', events === null ? null : <code>{events.endpoint}</code>],
      ]}
    />
  );
}

function Blocks() {
  const expected = useExpectedBlocks(useMempoolVersion());
  return (
    <Panel title="Newest blocks" source={NEWEST_BLOCKS} aside={<a href={pathTo('blocks')}>All</a>}>
      <BlockStrip expected={expected} />
      <StripLegend />
    </Panel>
  );
}

const NewestTransactions = () => (
  <ListPanel
    title="Newest transactions"
    loaded={useGet('/extended/v3/transactions', { limit: 8 }, tipVersion.value)}
    pager={null}
    aside={<a href={pathTo('transactions')}>All</a>}
    columns={NEWEST_COLUMNS}
    keyOf={idOf}
    empty="No transaction has arrived yet."
    stacked
  />
);

const ACTIVITIES = [
  ['Transactions', 'ok', 'transactions'],
  ['Blocks', 'accent', 'blocks'],
] as const;

const PERIODS = [
  ['day', 'By day'],
  ['hour', 'By hour'],
] as const;

function ActivityCharts() {
  const by = choiceOf('by', PERIODS);
  return (
    <DataPanel
      title="Activity"
      loaded={useGet('/stackside/v1/blocks/counts', { by }, tipVersion.value)}
      aside={<Choices label="Period" name="by" choices={PERIODS} chosen={by} />}
    >
      {({ counts }) => (
        <div class="grid">
          {ACTIVITIES.map(([name, colour, member]) => (
            <Chart
              key={name}
              label={`${name} of each ${by}`}
              times={counts.map(({ start }) => start)}
              series={[{ name, colour, values: counts.map((entry) => entry[member]) }]}
              format={count}
              scale={by === 'hour' ? 'hour' : 'days'}
              shape="bars"
              empty="No block has arrived yet."
            />
          ))}
        </div>
      )}
    </DataPanel>
  );
}
