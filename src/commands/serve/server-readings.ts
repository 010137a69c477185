/** Reads the state of the server: `/health`, `/ready`, `/metrics`, and `/stackside/v1/status`, `history` and `system`. */
import { AggregatorRegistry, type MetricValue, type Registry } from 'prom-client';
import type { Operations } from '../../api/operations.ts';
import type { StateReadings } from '../../api/server-state.ts';
import type { ServerHistory, ServerReadings, ServerStatus } from '../../api/stackside/server.ts';
import type { AlertsState, SystemState } from '../../api/stackside/system.ts';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { unavailable } from '../../base/system-errors.ts';
import type { Alert, Series } from '../../metrics/alerts.ts';
import type { DiskSpace, EventTimes, LastHour } from '../../metrics/last-hour.ts';
import { residentBytes } from '../../metrics/process-readings.ts';
import { processMetrics, type ServerState, stateMetrics } from '../../metrics/server.ts';
import { infoOrNull, type NodeRpc } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { helpOf, type Sources, serverSettings } from '../../settings/describe.ts';
import { defaultOf } from '../../settings/setting.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import { fileSizes, freeBytes } from '../../store/files/status.ts';
import { isWhole, lowestWholeHeight, type ValueIndex } from '../../store/model/contract.ts';
import { NoSnapshotError } from '../../store/model/read-errors.ts';
import { serverVersion } from '../cli/this-program.ts';
import type { ThreadMetrics } from './api-threads.ts';
import type { ServerContext, ServerOperations } from './server-context.ts';

const nodeHeightOf = async (node: NodeRpc): Promise<number | null> => (await infoOrNull(node))?.height ?? null;

const READ_REMEDY = 'Check that --data names the right directory and that its disk works.';

/** The value of a reading, or why the index can't be read. */
type Reading<T> = { read: T; failure: null } | { read: null; failure: NonNullable<StateReadings['readFailure']> };

/** Reads from the index. Throws errors that the index doesn't cause. */
export function readOrFailure<T>(reading: () => T): Reading<T> {
  try {
    return { read: reading(), failure: null };
  } catch (error) {
    if (error instanceof NoSnapshotError) {
      const remedy = error.cause instanceof OperatorError ? error.cause.remedy : READ_REMEDY;
      return { read: null, failure: { problem: error.message, remedy } };
    }
    const failure = unavailable(error);
    if (failure === null) throw error;
    return { read: null, failure: { problem: `The index can't be read: ${failure.message}`, remedy: failure.remedy } };
  }
}

export interface OperationsOptions extends Pick<ServerContext, 'snapshots' | 'node' | 'registry'> {
  directory: string;
  readiness: Operations['readiness'];
  /** The clock, in Unix milliseconds. */
  now: () => number;
  /** Whether the server was started with a simulated node, which makes blocks on request: they may have any age. */
  isSimulated: boolean;
  /** Metrics of the API threads; empty without threads. */
  threads(): Promise<ThreadMetrics[]>;
}

type IndexState = Omit<ServerState, 'nodeHeight' | 'files'>;

const NO_INDEX: IndexState = { tip: null, burnBlockHeight: 0, pending: new Map() };

/** The answers to /ready and /metrics of this process with its API threads. */
export function serverOperations(options: OperationsOptions): ServerOperations {
  const { directory, snapshots, node, registry, readiness, threads, now, isSimulated } = options;
  const setState = stateMetrics(registry, isSimulated ? null : now);
  processMetrics(registry);

  const readState = () =>
    snapshots.read((read): IndexState => {
      const block = read.blocks.find('latest');
      const pending = new Map<string, number>();
      for (const { type, transactions } of read.mempool.fees()) {
        pending.set(type, (pending.get(type) ?? 0) + transactions);
      }
      return {
        tip: block === undefined ? null : { height: block.height, time: block.time },
        burnBlockHeight: read.chain.tip()?.burnBlockHeight ?? 0,
        pending,
      };
    });

  const stateOfIndex = (): IndexState => readOrFailure(readState).read ?? NO_INDEX;

  async function currentRegistry(): Promise<Pick<Registry, 'metrics' | 'getMetricsAsJSON'>> {
    const [state, nodeHeight, others] = await Promise.all([stateOfIndex(), nodeHeightOf(node), threads()]);
    setState({ ...state, nodeHeight, files: fileSizes(directory) });
    if (others.length === 0) return registry;
    return AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...others]);
  }

  return {
    readiness,
    metrics: async () => (await currentRegistry()).metrics(),
    series: async () => (await (await currentRegistry()).getMetricsAsJSON()).flatMap(seriesOf),
  };
}

/** A value of a histogram has the name of its part, such as `…_bucket`. The types of the library leave it out. */
const seriesOf = ({ name, values }: { name: string; values: (MetricValue<string> & { metricName?: string })[] }) =>
  values.map(({ metricName = name, labels, value }): Series => {
    const texts = Object.entries(labels).map(([label, text]) => [label, String(text)]);
    return { name: metricName, labels: Object.fromEntries(texts), value };
  });

interface ReadingsOptions
  extends Pick<ServerContext, 'settings' | 'node' | 'operations' | 'snapshots' | 'observations'> {
  clock: Clock;
  /** URL at which events arrive or are read; null in a process that accepts none. */
  events: string | null;
  /** Whether the server was started with a simulated node. */
  isSimulated: boolean;
  /** The status of this host of a cluster; null without a shared log. */
  host: () => ServerStatus['cluster'];
  /** The status of the archive; null if this process writes none. */
  archive: () => ServerStatus['archive'];
}

const MILLISECONDS = 1000;

/** Makes the functions that read the state of this process. Its uptime counts from this call. */
export const serverReadings = (options: ReadingsOptions): ServerReadings => ({
  status: statusOf(options),
  history: () => historyOf(options.observations.hour),
});

function statusOf(options: ReadingsOptions): () => Promise<ServerStatus> {
  const { settings, node, clock, operations, snapshots, events, observations, isSimulated, host, archive } = options;
  const { hour, space } = observations;
  const start = clock.monotonic();
  return async () => {
    // Both use the same answer of the node.
    const [readiness, info] = await Promise.all([operations.readiness(), infoOrNull(node)]);
    const { height, node_height, tip_age_seconds, ...standing } = readiness;
    const { read: chain } = readOrFailure(() =>
      snapshots.read((read) => ({ id: read.chain.chainId(), from: read.chain.historyFrom() })),
    );
    const from = chain?.from ?? null;
    const files = [...fileSizes(settings.data)];
    const sizeOf = (name: string) =>
      files.filter(([file]) => file.startsWith(name)).reduce((sum, [, size]) => sum + size, 0);
    return {
      server_version: serverVersion,
      mode: settings.mode,
      uptime_seconds: Math.floor((clock.monotonic() - start) / MILLISECONDS),
      ...standing,
      index: {
        height,
        tip_age_seconds,
        chain_id: chain?.id ?? settings.network,
        ...(from === null ? {} : { history_from: from }),
      },
      node: { height: node_height, chain_id: info?.chainId ?? null },
      events:
        events === null
          ? null
          : {
              endpoint: new URL(events).host,
              per_second: hour.eventsPerSecond(),
              latency: latencyOf(hour.eventTimes()),
              last_received_at: hour.lastEvent(),
            },
      cluster: host(),
      archive: archive(),
      memory_bytes: residentBytes(),
      disk: {
        index_bytes: sizeOf('index'),
        journal_bytes: sizeOf('journal'),
        free_bytes: freeBytes(settings.data),
        growth: growthOf(space.growth()),
      },
      simulated_node: isSimulated,
    };
  };
}

const latencyOf = (times: EventTimes | null) =>
  times === null ? null : { events: times.events, median_ms: round(times.medianMs), p99_ms: round(times.p99Ms) };

const growthOf = (growth: ReturnType<DiskSpace['growth']>): ServerStatus['disk']['growth'] =>
  growth === null
    ? null
    : { measured_seconds: growth.seconds, bytes_per_day: growth.bytesPerDay, full_in_seconds: growth.fullInSeconds };

/** Rounds a value to the digits that a chart shows. */
const round = (value: number): number => Number(value.toPrecision(4));
const roundOrNull = (value: number | null): number | null => (value === null ? null : round(value));

function historyOf(hour: LastHour): ServerHistory {
  const samples = hour.samples();
  return {
    interval_seconds: hour.intervalSeconds,
    times: samples.map(({ time }) => time),
    events_per_second: samples.map(({ eventsPerSecond }) => round(eventsPerSecond)),
    requests_per_second: samples.map(({ requestsPerSecond }) => round(requestsPerSecond)),
    request_ms: samples.map(({ requestMs }) => roundOrNull(requestMs)),
    deliveries_succeeded: samples.map(({ delivered }) => delivered),
    deliveries_failed: samples.map(({ failed }) => failed),
    delivery_ms: samples.map(({ deliveryMs }) => roundOrNull(deliveryMs)),
    slowest_delivery_ms: samples.map(({ slowestDeliveryMs }) => roundOrNull(slowestDeliveryMs)),
    memory_bytes: samples.map(({ memoryBytes }) => memoryBytes),
    cpu_share: samples.map(({ cpuShare }) => round(cpuShare)),
  };
}

export interface SystemStateOptions {
  settings: Settings;
  sources: Sources;
  listeners: SystemState['listeners'];
  threads: number;
  valueIndexes: readonly ValueIndex[];
}

const settingsOf = ({ settings, sources }: SystemStateOptions): SystemState['settings'] =>
  serverSettings(settings, sources).map(({ declared, group, name, value, text, source }) => ({
    group,
    name,
    value: text,
    help: helpOf(declared, 'serve'),
    source: source?.kind ?? (value === defaultOf(declared, 'serve') ? 'default' : 'program'),
    source_name: source?.name ?? null,
  }));

const MICROSECONDS = 1_000_000;

/** The journal of a data directory, without counting its entries, which would read all of it. */
function readJournal(directory: string): SystemState['journal'] {
  const journal = openJournalReader(directory);
  try {
    const span = journal.span();
    return {
      entries: journal.lastId(),
      oldest_at: span === null ? null : Math.floor(span.first / MICROSECONDS),
      newest_at: span === null ? null : Math.floor(span.last / MICROSECONDS),
    };
  } finally {
    journal.close();
  }
}

/** Unix seconds at which the newest entry of a journal was received; null if the journal is empty. */
export const newestEntryAt = (directory: string): number | null => readJournal(directory).newest_at;

function makingState(index: ValueIndex): SystemState['value_indexes'][number]['state'] {
  if (!index.wanted) return 'removing';
  return isWhole(index) ? 'complete' : 'making';
}

const valueIndexState = (index: ValueIndex): SystemState['value_indexes'][number] => ({
  of: index.subject,
  contract_id: index.contract,
  field: index.scope === '' ? null : index.scope,
  state: makingState(index),
  from_height: lowestWholeHeight(index),
});

const DURABILITY =
  'Each event is synced to the journal before the node gets its answer. The index is committed once no event came for 20 ms, and after a second at the latest. After a crash, the server applies the missing events from the journal.';

/** @throws OperatorError if the journal can't be read */
export function systemState(options: SystemStateOptions): SystemState {
  const { settings, listeners, threads } = options;
  const { data: directory } = settings;
  return {
    settings: settingsOf(options),
    listeners,
    threads,
    data: {
      directory,
      files: [...fileSizes(directory)].map(([name, bytes]) => ({ name, bytes })),
      free_bytes: freeBytes(directory),
    },
    journal: readJournal(directory),
    durability: DURABILITY,
    value_indexes: options.valueIndexes.map(valueIndexState),
  };
}

/** The alerts as the API has them. @param last null before the first evaluation */
export const alertsState = (last: { at: number; alerts: readonly Alert[] } | null): AlertsState => ({
  evaluated_at: last?.at ?? null,
  alerts: [...(last?.alerts ?? [])],
});
