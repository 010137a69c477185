/** Routes for the admin key: settings, files, log events and inspections of the index. Stackside's own. */
import { type Static, Type } from '@sinclair/typebox';
import { MAX_UINT } from '../../codec/clarity.ts';
import { ApiError } from '../../http/errors.ts';
import { type Access, route } from '../../http/route.ts';
import { named, nullable, UnixTime, words } from '../shared/fields.ts';
import { ArchiveBase, type HostsState, hostsRoute, type OperatorFamily, operatorFamily } from './server.ts';
import { type Queries, sqlRoutes } from './sql.ts';

const kinds = ['check', 'tables'] as const;
export type InspectionKind = (typeof kinds)[number];

const common = {
  state: words('running', 'done', 'failed', 'cancelled'),
  started_at: UnixTime,
  ended_at: nullable(UnixTime),
  progress: nullable(
    named('InspectionProgress', {
      number: Type.Integer({ description: 'Number of the current step, from 1 on' }),
      of: Type.Integer({ description: 'Number of steps' }),
      name: Type.String({ description: 'What the step reads' }),
      detail: Type.String({ description: 'Progress in words; empty if it is unknown' }),
    }),
  ),
  problem: nullable(Type.String(), { description: 'Reason why the inspection failed; null if it did not' }),
};

export const CheckFinding = named('CheckFinding', {
  name: Type.String({ description: 'Name of the check' }),
  problems: Type.Array(Type.String(), { description: 'Problems; empty if there are none' }),
});
export const TableSize = named('TableSize', {
  name: Type.String(),
  kind: words('table', 'index'),
  table: Type.String({ description: 'The table itself, or the table of the index' }),
  bytes: Type.Integer(),
});

export const InspectionsState = named('InspectionsState', {
  check: nullable(Type.Object({ ...common, findings: Type.Array(CheckFinding) })),
  tables: nullable(Type.Object({ ...common, sizes: Type.Array(TableSize) })),
});
export type InspectionsState = Static<typeof InspectionsState>;

/** The inspections of a process. One runs at a time, since each reads the whole index. */
export interface Inspections {
  state(): InspectionsState;
  /** Starts an inspection. @returns false if one is running already */
  start(kind: InspectionKind): boolean;
  /** Cancels the running inspection. @returns whether there was one */
  cancel(): boolean;
}

function inspectionRoutes(family: OperatorFamily<SystemApi>) {
  const path = '/stackside/v1/inspections';
  return [
    route({
      ...family,
      path,
      operationId: 'getInspections',
      summary: 'Inspections of the index',
      description:
        'Returns the newest inspection of each kind with its progress and findings, null if none was started. Requires the admin key.',
      response: InspectionsState,
      handle: ({ caller: { inspections } }) => inspections.state(),
    }),
    route({
      ...family,
      refusals: { ...family.refusals, 409: 'An inspection is running' },
      method: 'POST',
      path,
      operationId: 'startInspection',
      summary: 'Start an inspection of the index',
      description:
        'Starts to check the index as `stackside check` does, or to measure its tables. Both read the whole index in a separate process with low priority. One inspection runs at a time. Requires the admin key.',
      body: Type.Object({ kind: words(...kinds) }),
      response: InspectionsState,
      handle({ caller: { inspections }, body: { kind } }) {
        if (!inspections.start(kind))
          throw new ApiError(409, 'Another inspection is running; cancel it, or wait until it ends');
        return inspections.state();
      },
    }),
    route({
      ...family,
      refusals: { ...family.refusals, 409: 'No inspection is running' },
      method: 'DELETE',
      path,
      operationId: 'cancelInspection',
      summary: 'Cancel the inspection of the index',
      description: 'Cancels the running inspection. Requires the admin key.',
      response: InspectionsState,
      handle({ caller: { inspections } }) {
        if (!inspections.cancel()) throw new ApiError(409, 'No inspection is running');
        return inspections.state();
      },
    }),
  ];
}

const Setting = named('EffectiveSetting', {
  group: Type.String({ description: 'Heading of the setting in the help' }),
  name: Type.String(),
  value: nullable(Type.String(), { description: 'Value in words, `<set>` for a secret; null if there is none' }),
  help: Type.String(),
  source: {
    ...words('default', 'flag', 'variable', 'program'),
    description: 'Source of the value; `program` if the program itself sets it, as a devnet does',
  },
  source_name: nullable(Type.String(), { description: 'Name of the flag or variable; null for other sources' }),
});

const Journal = named('JournalState', {
  entries: Type.Integer(),
  oldest_at: nullable(Type.Integer(), { description: 'Unix time of the first entry' }),
  newest_at: nullable(Type.Integer(), { description: 'Unix time of the last entry' }),
});

export const SystemState = named('SystemState', {
  settings: Type.Array(Setting),
  listeners: Type.Array(
    Type.Object({ name: Type.String(), url: Type.String({ description: 'Address that the listener is bound to' }) }),
  ),
  threads: Type.Integer({ description: 'Threads of the API, in addition to the main thread' }),
  data: Type.Object({
    directory: Type.String(),
    files: Type.Array(Type.Object({ name: Type.String(), bytes: Type.Integer() })),
    free_bytes: nullable(Type.Integer()),
  }),
  journal: Journal,
  durability: Type.String({ description: 'Data that is on the disk when the node receives its answer, in words' }),
  value_indexes: Type.Array(
    Type.Object({
      of: words('logs', 'calls'),
      contract_id: Type.String(),
      field: nullable(Type.String(), { description: 'Field of the logs, or function of the calls; null for all' }),
      state: words('complete', 'making', 'removing'),
      from_height: Type.Integer({ description: 'Height of the first block that the index has; 0 when it is complete' }),
    }),
    { description: 'Indexes of decoded values in the settings' },
  ),
});
export type SystemState = Static<typeof SystemState>;

export const AlertsState = named('AlertsState', {
  evaluated_at: nullable(UnixTime),
  alerts: Type.Array(
    Type.Object({
      name: Type.String(),
      severity: words('critical', 'warning'),
      state: {
        ...words('firing', 'pending', 'quiet', 'elsewhere'),
        description:
          '`pending`: the condition is true, but not for long enough. `elsewhere`: only Prometheus can evaluate the condition.',
      },
      since: nullable(UnixTime, { description: 'Time since which the condition has been true; null if it is false' }),
      summaries: Type.Array(Type.String(), { description: 'Problems; empty if there are none' }),
      description: Type.String({ description: 'Remedy' }),
      meaning: Type.String({ description: 'The problem that the alert reports, without its values' }),
      measure: nullable(
        Type.String({ description: 'Measure of the condition in PromQL; null if only Prometheus can evaluate it' }),
      ),
      threshold: nullable(Type.String({ description: 'Threshold of the measure in words: `above 1 h`' })),
      for_seconds: Type.Integer({ description: 'Seconds for which the condition must hold before the alert fires' }),
      values: Type.Array(
        Type.Object({
          labels: Type.Record(Type.String(), Type.String()),
          value: Type.Number(),
          text: Type.String({ description: 'The value with its unit: `2 h`' }),
        }),
        { description: 'Present values of the measure, largest first, at most 5' },
      ),
    }),
    { description: 'Firing alerts first; empty before the first evaluation' },
  ),
});
export type AlertsState = Static<typeof AlertsState>;

export const SystemLog = named('SystemLog', {
  recent: Type.Array(
    Type.Object({
      at: Type.Integer({ description: 'Unix time' }),
      thread: Type.Integer({ description: 'Thread that logged it: 0 is the main one, the others answer the API' }),
      event: Type.String(),
      level: Type.String(),
      fields: Type.String({ description: 'Fields of the event as JSON; long values are cut' }),
    }),
    { description: 'The last events, newest first: warnings and errors are kept apart from the others' },
  ),
});
export type SystemLog = Static<typeof SystemLog>;

/** Maximum number of tokens that a request names. */
const MAX_TOKENS = 1_000;

/**
 * Fetches the metadata of tokens again.
 * @param tokens null for all tokens of the contract
 * @returns `contract` if the contract is unknown, or the unknown tokens; null if all are known
 */
type RefreshTokens = (contract: string, tokens: readonly bigint[] | null) => Promise<'contract' | bigint[] | null>;

const refreshRoute = (family: OperatorFamily<SystemApi>) =>
  route({
    ...family,
    refusals: { ...family.refusals, 404: 'Contract or token not found', 409: 'Token metadata is turned off' },
    method: 'POST',
    path: '/stackside/v1/tokens/refresh',
    operationId: 'refreshTokens',
    summary: 'Refresh token metadata',
    description:
      'Queues tokens of a contract, so that the server fetches their metadata from the node again, also for frozen ones. The present metadata stays until the node answers. Requires the admin key.',
    body: Type.Object({
      contract_id: Type.String({ minLength: 1, maxLength: 200 }),
      token_ids: Type.Optional(
        Type.Array(
          Type.String({ pattern: '^(0|[1-9][0-9]{0,38})$', rule: 'a whole number of at most 39 digits, as text' }),
          { minItems: 1, maxItems: MAX_TOKENS, description: 'Numbers of the tokens; all of the contract if omitted' },
        ),
      ),
    }),
    response: named('RefreshedTokens', {
      contract_id: Type.String(),
      tokens: nullable(Type.Integer({ description: 'Number of queued tokens; null for all of the contract' })),
    }),
    async handle({ caller: { refreshTokens }, body: { contract_id, token_ids } }) {
      if (refreshTokens === null)
        throw new ApiError(409, 'Token metadata is turned off on this server (--token-metadata off)');
      const tokens = token_ids === undefined ? null : [...new Set(token_ids.map(BigInt))];
      const tooLarge = tokens?.filter((token) => token > MAX_UINT) ?? [];
      const unknown = tooLarge.length > 0 ? tooLarge : await refreshTokens(contract_id, tokens);
      if (unknown === 'contract') throw new ApiError(404, `${contract_id} is not a deployed token contract`);
      if (unknown !== null) throw new ApiError(404, `Tokens of ${contract_id} not found: ${unknown.join(', ')}`);
      return { contract_id, tokens: tokens?.length ?? null };
    },
  });

/** Requests a base of the archive. @returns the present bases, or the reason why the server can't make one */
export type RequestBase = () => ArchiveBase | string;

const baseRoute = (family: OperatorFamily<SystemApi>) =>
  route({
    ...family,
    refusals: { ...family.refusals, 409: "This server can't make a base now" },
    method: 'POST',
    path: '/stackside/v1/archive/base',
    operationId: 'makeArchiveBase',
    summary: 'Make a base of the archive',
    description: 'Starts to make a base in the background; the status shows the progress. Requires the admin key.',
    response: ArchiveBase,
    handle({ caller: { requestBase } }) {
      if (requestBase === null) throw new ApiError(409, 'Archiving is off; start the server with --archive');
      const status = requestBase();
      if (typeof status === 'string') throw new ApiError(409, `Can't make a base: ${status}`);
      return status;
    },
  });

/** The routes that report to the operator of a process. */
export interface SystemApi {
  state(): SystemState;
  log(): Promise<SystemLog>;
  inspections: Inspections;
  /** The hosts of this server's cluster. */
  hosts(): Promise<HostsState>;
  /** Null if the settings turn token metadata off. */
  refreshTokens: RefreshTokens | null;
  /** Null if this server doesn't write an archive. */
  requestBase: RequestBase | null;
  queries: Queries;
  alerts(): AlertsState;
}

/**
 * The routes of the operator.
 * @param system reads this process; null if `access` refuses all requests
 * @param access accepts the admin key only
 */
export function systemRoutes(system: SystemApi | null, access: Access<object, undefined>) {
  const family = operatorFamily((request, clientAddress) => {
    const authorize = access(request, clientAddress);
    return (params): SystemApi => {
      authorize(params);
      if (system === null) throw new Error('access refuses requests to a process without a system');
      return system;
    };
  });
  return [
    route({
      ...family,
      path: '/stackside/v1/system',
      operationId: 'getSystem',
      summary: 'Settings and files of this server',
      description:
        'Returns the current settings and the source of each, the addresses that the server listens on, its files, and the state of its journal. Secrets are not shown. Requires the admin key.',
      response: SystemState,
      handle: ({ caller }) => caller.state(),
    }),
    route({
      ...family,
      path: '/stackside/v1/log',
      operationId: 'getSystemLog',
      summary: 'Recent log events',
      description:
        'Returns the last log events of the main thread and the API threads. A thread that doesn’t respond within two seconds is left out. Requires the admin key.',
      response: SystemLog,
      handle: ({ caller }) => caller.log(),
    }),
    route({
      ...family,
      path: '/stackside/v1/alerts',
      operationId: 'getAlerts',
      summary: 'Alerts that would fire',
      description:
        'Returns the alerts of packaging/prometheus/alerts.yml, which this process evaluates each minute over its metrics. An alert is `pending` until its condition has held for long enough, and `elsewhere` if only Prometheus, which sees all hosts, can evaluate it. Requires the admin key.',
      response: AlertsState,
      handle: ({ caller }) => caller.alerts(),
    }),
    ...inspectionRoutes(family),
    hostsRoute(family),
    refreshRoute(family),
    baseRoute(family),
    ...sqlRoutes(family),
  ];
}
