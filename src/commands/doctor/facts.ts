/** Gathers the facts for `stackside doctor`: from the files, the node, the ports and a running server. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { ServerStatus } from '../../api/stackside/server.ts';
import { readIdentity, requireIdentity, toIdentity } from '../../archive/archive.ts';
import { requireSameLog } from '../../archive/archiver.ts';
import { openArchive } from '../../archive/open.ts';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { isPresent } from '../../base/files.ts';
import { parsedJson } from '../../base/json.ts';
import { onFile } from '../../base/system-errors.ts';
import { isPortTaken } from '../../http/listener.ts';
import { type Alert, Alerts, type Series } from '../../metrics/alerts.ts';
import { type NodeConfig, nodeToken, readNodeConfig } from '../../node/node-config.ts';
import { infoOrReason, type NodeInfo, type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { objectStoreAt } from '../../storage/location.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { indexPath, journalPath } from '../../store/files/database.ts';
import { dataStateOf, directoryStatus, type FileFates, fileFates, freeBytes } from '../../store/files/status.ts';
import { isUnfinished } from '../../store/files/unfinished.ts';
import { askText } from '../cli/client.ts';
import { requireOwnJournal } from '../data/check.ts';
import { browserUrl } from '../terminal/presenter.ts';

/** A value, or the error that prevented it. */
type ValueOrError<T> = { value: T; error: null } | { value: null; error: Pick<OperatorError, 'message' | 'remedy'> };

interface CommonFacts {
  settings: Settings;
  url: string;
  /** URL of the node's RPC interface, without a password. */
  nodeUrl: string;
  /** Null if no server runs. */
  server: ServerStatus | null;
  alerts: readonly Alert[];
  /** The data directory; null if it has neither an index nor a journal. */
  data: ValueOrError<{ chainId: number | null; files: FileFates }> | null;
  /** Null if no file is named. */
  nodeConfig: ValueOrError<NodeConfig> | null;
  /** The node's answer to the token; null without a token or without an answer. */
  tokenStatus: number | null;
  /** Null if there is no token. */
  token: ValueOrError<string> | null;
  /** Ports of the settings that another program uses. */
  takenPorts: readonly { flag: string; port: number }[];
  freeBytes: number | null;
  /** Location of the archive that the server writes; null without --archive, and while a server runs, which reports how it writes. */
  archive: ValueOrError<string> | null;
  /** Location of the archive that the server follows; null without --from. */
  from: ValueOrError<string> | null;
}

/** The answer of a node, or why there is none, as a clause. */
type NodeFacts =
  | { node: NodeInfo & { isSynced: boolean | null; secondsAhead: number | null }; nodeFailure: null }
  | { node: null; nodeFailure: string };

export type Facts = CommonFacts & NodeFacts;

function errorOnly(error: unknown): ValueOrError<never> {
  if (error instanceof OperatorError) return { value: null, error };
  throw error;
}

/** Runs something that fails with an OperatorError. */
function valueOrError<T>(read: () => T): ValueOrError<T> {
  try {
    return { value: read(), error: null };
  } catch (error) {
    return errorOnly(error);
  }
}

/** Awaits something that fails with an OperatorError. */
const settled = <T>(promise: Promise<T>): Promise<ValueOrError<T>> =>
  promise.then((value) => ({ value, error: null }), errorOnly);

/** Returns the node's answer, or null if the node doesn't answer. */
async function orNull<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof NodeUnreachableError) return null;
    throw error;
  }
}

const MILLISECONDS = 1_000;

async function nodeFacts(node: NodeRpc, clock: Clock): Promise<NodeFacts> {
  const { info, reason } = await infoOrReason(node);
  if (info === null) return { node: null, nodeFailure: reason };
  const response = await orNull(node.request('/v2/info'));
  const date = Date.parse(response?.headers.get('date') ?? '');
  const body = response === null ? null : parsedJson(await response.text());
  const isSynced = (body as { is_fully_synced?: unknown } | null | undefined)?.is_fully_synced;
  return {
    node: {
      ...info,
      isSynced: typeof isSynced === 'boolean' ? isSynced : null,
      secondsAhead: Number.isNaN(date) ? null : Math.round((date - clock.now()) / MILLISECONDS),
    },
    nodeFailure: null,
  };
}

/** A block that no node has: the node compares the token before it looks for the block. */
const NO_BLOCK = '0'.repeat(64);

async function tokenStatus(node: NodeRpc, token: string): Promise<number | null> {
  const headers = { authorization: token };
  return (await orNull(node.request(`/v3/blocks/replay/${NO_BLOCK}`, { headers })))?.status ?? null;
}

function takenPorts({ mode, apiHost, apiPort, eventHost, eventPort, snp }: Settings): Facts['takenPorts'] {
  const ports = [
    ...(mode === 'write' ? [] : [{ flag: '--api-port', host: apiHost, port: apiPort }]),
    ...(mode === 'read' || snp !== null ? [] : [{ flag: '--event-port', host: eventHost, port: eventPort }]),
  ];
  return ports
    .filter(({ host, port }) => port !== 0 && isPortTaken(host, port))
    .map(({ flag, port }) => ({ flag, port }));
}

/** Bytes of free space on the disk that has, or will have, the data directory. */
function freeSpace(directory: string): number | null {
  let path = resolve(directory);
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  return freeBytes(path);
}

/** Parses the metrics of a server, in Prometheus' text format. */
export const parseMetrics = (text: string): Series[] =>
  [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value = '']) => ({
    name,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]),
    ),
    value: Number(value),
  }));

async function askServer(url: string, clock: Clock): Promise<Pick<Facts, 'server' | 'alerts'>> {
  const text = await askText(url, '/stackside/v1/status', clock);
  const status = text === null ? undefined : parsedJson(text);
  if (!Value.Check(ServerStatus, status)) return { server: null, alerts: [] };
  const metrics = (await askText(url, '/metrics', clock)) ?? '';
  const alerts = new Alerts().evaluate(Math.floor(clock.now() / MILLISECONDS), parseMetrics(metrics));
  return { server: status, alerts: alerts.filter(({ state }) => state === 'firing' || state === 'pending') };
}

/**
 * Requires that an archive, if there is one, belongs to the log of the data directory. Without data, or if the data can't be read,
 * compares only whether both are public.
 * @throws OperatorError
 */
async function requireOwnArchive(store: ObjectStore, { data, archivePublic }: Settings): Promise<void> {
  const stored = await readIdentity(store);
  if (stored === null) return;
  const own = valueOrError(() =>
    onFile(indexPath(data), () => (isPresent(indexPath(data)) ? dataStateOf(data) : null)),
  ).value;
  const { chainId, identity } = {
    chainId: own?.chainId ?? stored.chain_id,
    identity: own?.identity ?? stored.identity,
  };
  requireSameLog(store.location, stored, toIdentity(chainId, identity, archivePublic));
}

/** Checks that an archive can be written, and belongs to this log. @returns its location @throws OperatorError */
async function checkArchive(location: string, settings: Settings): Promise<string> {
  const store = objectStoreAt(location, settings.data);
  await store.check();
  await requireOwnArchive(store, settings);
  return store.location;
}

/** Checks that an archive can be followed, and is not older than before. @returns its location @throws OperatorError */
async function checkSource(location: string, settings: Settings, clock: Clock): Promise<string> {
  const memory = { directory: settings.data, isReadOnly: true };
  const store = await openArchive({ location, ...memory, trust: settings, clock, lacks: () => {} });
  await requireIdentity(store);
  return store.location;
}

function readData({ data, from }: Settings): Facts['data'] {
  const paths = [indexPath(data), journalPath(data)];
  const isEmpty = valueOrError(() => !paths.some(isPresent)).value === true;
  // With --from, the server itself continues an unfinished restore, which moves the journal before the index.
  const isRestoring = valueOrError(() => isUnfinished(data)).value === true;
  if (isRestoring ? from !== null && !isPresent(indexPath(data)) : isEmpty) return null;
  const facts = valueOrError(() =>
    onFile(indexPath(data), () => {
      const { chain_id: chainId } = directoryStatus(data);
      requireOwnJournal(data);
      return { chainId, files: fileFates(data) };
    }),
  );
  if (facts.error === null) return facts;
  // If a file has another version, only the versions can be read.
  const files = valueOrError(() => fileFates(data)).value;
  const isOther = files !== null && [files.index, files.journal].some((fate) => fate !== null && fate !== 'used');
  return isOther ? { value: { chainId: null, files }, error: null } : facts;
}

function readToken(settings: Settings): Facts['token'] {
  const token = valueOrError(() => nodeToken(settings));
  if (token.error !== null) return token;
  return token.value === null ? null : { value: token.value, error: null };
}

/** Gathers the facts. */
export async function gatherFacts(settings: Settings, node: NodeRpc, clock: Clock): Promise<Facts> {
  const { data, apiHost, apiPort, nodeConfig, archive, from } = settings;
  const url = browserUrl(new URL(`http://${apiHost}:${apiPort}`).origin);
  const answer = await askServer(url, clock);
  const token = readToken(settings);
  return {
    ...answer,
    settings,
    url,
    nodeUrl: node.location,
    ...(await nodeFacts(node, clock)),
    data: readData(settings),
    nodeConfig: nodeConfig === null ? null : valueOrError(() => readNodeConfig(nodeConfig)),
    token,
    tokenStatus: token === null || token.value === null ? null : await tokenStatus(node, token.value),
    takenPorts: answer.server === null ? takenPorts(settings) : [],
    freeBytes: freeSpace(data),
    archive: archive === null || answer.server !== null ? null : await settled(checkArchive(archive, settings)),
    from: from === null ? null : await settled(checkSource(from, settings, clock)),
  };
}
