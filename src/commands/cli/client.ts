/** Requests of `stackside hooks …`, `console`, `devnet …` and `status` to the API of a running Stackside. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { AssertError, Value } from '@sinclair/typebox/value';
import { serverStates } from '../../api/server-state.ts';
import { HostState } from '../../api/stackside/server.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { withoutCredentials } from '../../base/credentials.ts';
import { OperatorError } from '../../base/errors.ts';
import { withFullStop } from '../../base/format.ts';
import { parsedJson } from '../../base/json.ts';
import { CONSUMER_HEADER } from '../../hooks/access/access.ts';
import { adminKeyFile, namedAdminKey, readAdminKey } from '../../hooks/access/keys.ts';
import { LINKS, LinkResponse } from '../../hooks/routes/session.ts';
import { UnreachableError, wholeAnswer } from '../../http/direct-fetch.ts';
import { hostCheck } from '../../http/hosts.ts';
import { type ResolvedSettings, settings } from '../../settings/config.ts';

export interface Connection {
  /** The origin of the API, such as `http://127.0.0.1:3999`. */
  url: string;
  /** Null for requests without a key. */
  key: string | null;
  /** The consumer that the request acts for; default: the consumer of the key. */
  consumer?: string;
}

const ErrorBody = Type.Object({ error: Type.String(), details: Type.String() });

/** Whether a host is this machine. This machine receives the admin key without a flag. */
const isOwnMachine = hostCheck({ names: [], addresses: 'loopback' });

const isOnOwnMachine = (url: string): boolean => isOwnMachine(URL.parse(url)?.host ?? null);

/**
 * The key to send: the variable's key, or else the admin key in the named file or the data directory. The admin key is sent
 * to another machine only if a flag names that file or the data directory.
 * @returns null without a key
 * @throws OperatorError if a flag names a file or directory without a valid key
 */
export function keyFor({
  settings: { url, data, adminKey, hookKey },
  sources,
}: ResolvedSettings<'console'>): string | null {
  if (hookKey !== null) return hookKey;
  const isNamed = sources.adminKey?.kind === 'flag' || sources.data?.kind === 'flag';
  if (!isNamed && !isOnOwnMachine(url)) return null;
  if (adminKey !== null) return namedAdminKey(adminKey);
  const key = readAdminKey(data);
  if (key !== null || !isNamed) return key;
  throw new OperatorError(
    `No admin key found at ${adminKeyFile(data)}.`,
    'Check --data, or name the file with --admin-key. stackside serve creates the key when it starts.',
  );
}

const OK = 200;
const BAD_REQUEST = 400;
const UNAUTHORIZED = 401;
const NOT_FOUND = 404;
const UNAVAILABLE = 503;

export interface Answer {
  status: number;
  /** The parsed JSON; null if the body isn't JSON. */
  body: unknown;
}

/**
 * Sends a request and reads its response with any status. If no server answers, the error advises to start `command`.
 * @throws OperatorError if the server can't be reached
 */
async function askServer(
  connection: Connection & { command?: 'serve' | 'devnet' },
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const { url, key, consumer, command = 'serve' } = connection;
  const request: BunFetchRequestInit = {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === null ? {} : { 'x-api-key': key }),
      ...(consumer === undefined ? {} : { [CONSUMER_HEADER]: consumer }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  try {
    const response = await send(new URL(path, url), request);
    const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json');
    return { status: response.status, body: isJson ? (parsedJson(await response.text()) ?? null) : null };
  } catch (cause) {
    if (cause instanceof UnreachableError && cause.failure === 'late') {
      throw new OperatorError(`${withoutCredentials(url)} did not answer in time.`, "Read that server's log.", {
        cause,
      });
    }
    const remedy = `Start stackside ${command}, or give the URL of its API with --url.`;
    throw new OperatorError(`No Stackside answers at ${withoutCredentials(url)}.`, remedy, { cause });
  }
}

/** Milliseconds for the answer to a request that only reads. */
export const READ_TIMEOUT_MS = 10_000;

/** Milliseconds for the answer to a request that changes something: steering a simulated node may take long. */
const CHANGE_TIMEOUT_MS = 120_000;

/** Sends a request and reads the whole response. @throws UnreachableError */
function send(url: URL, request: BunFetchRequestInit, clock: Clock = systemClock): Promise<Response> {
  const timeoutMs = request.method === 'GET' ? READ_TIMEOUT_MS : CHANGE_TIMEOUT_MS;
  return wholeAnswer(url, request, { server: url.origin, timeoutMs, clock });
}

/**
 * Checks a response body against its schema.
 * @throws OperatorError for another body, for example of a server that is not Stackside
 */
function checkAnswer<Schema extends TSchema>(schema: Schema, url: string, body: unknown): Static<Schema> {
  try {
    return Value.Parse(schema, body);
  } catch (cause) {
    if (!(cause instanceof AssertError)) throw cause;
    throw new OperatorError(
      `${withoutCredentials(url)} sent an unexpected response.`,
      'Check that --url is the API of a Stackside, and that both have the same version.',
      { cause },
    );
  }
}

/**
 * Sends a request.
 * @returns the body of a 2xx response
 * @throws OperatorError with the server's error for other responses, or if the server can't be reached
 */
async function callServer(connection: Connection, method: string, path: string, payload?: unknown): Promise<unknown> {
  const { status, body } = await askServer(connection, method, path, payload);
  if (status >= 200 && status < 300) return body;
  const isError = Value.Check(ErrorBody, body);
  const problem = isError ? body.details : `${withoutCredentials(connection.url)} answers ${status}`;
  const text = status === BAD_REQUEST ? `The server rejected the request: ${problem}` : problem;
  throw new OperatorError(withFullStop(text), remedyFor(status, isError));
}

/** @param isError whether the body is an error of Stackside's API */
function remedyFor(status: number, isError: boolean): string {
  if (status === UNAUTHORIZED) {
    return `Give the data directory of that server with --data, the file of its admin key with --admin-key, or one of its keys in ${settings.hookKey.variables[0]}.`;
  }
  if (status === NOT_FOUND && !isError) return 'Give the URL of the API with --url; this may be the event port.';
  if (status === NOT_FOUND) {
    return '`stackside hooks list` prints the ids of chainhooks, and `stackside hooks deliveries` the ids of deliveries.';
  }
  if (status === UNAVAILABLE) {
    return 'If that process only reads, give the URL of a server that accepts events with --url. Otherwise, run the command again later.';
  }
  return 'Correct the value that the error names. Nothing was changed.';
}

/** Sends a chainhook request and reads its response, like {@link askServer}. @param path below `/chainhooks` */
export const ask = (connection: Connection, method: string, path: string): Promise<Answer> =>
  askServer(connection, method, `/chainhooks${path}`);

/** Sends a chainhook request, like {@link callServer}. @param path below `/chainhooks` */
export const call = (connection: Connection, method: string, path: string, payload?: unknown): Promise<unknown> =>
  callServer(connection, method, `/chainhooks${path}`, payload);

/** Sends a chainhook request, like {@link call}, and checks the body of the response against a schema. */
export const callFor = async <Schema extends TSchema>(
  schema: Schema,
  connection: Connection,
  method: string,
  path: string,
  payload?: unknown,
): Promise<Static<Schema>> => checkAnswer(schema, connection.url, await call(connection, method, path, payload));

const DevnetError = Type.Object({ message: Type.String() });

/**
 * `stackside devnet …`: requests JSON from the devnet at a URL, or steers its simulated node.
 * @param payload what to post; undefined to GET
 * @throws OperatorError if it refuses, or the server isn't a devnet on this machine
 */
export async function callDevnet(url: string, path: string, payload?: object): Promise<unknown> {
  const method = payload === undefined ? 'GET' : 'POST';
  const { status, body } = await askServer({ url, key: null, command: 'devnet' }, method, path, payload);
  if (status === OK) return body;
  const isWrongValue = payload !== undefined && status !== NOT_FOUND;
  const reason = Value.Check(DevnetError, body) ? body.message.replace(/^body\//, '') : null;
  throw new OperatorError(
    withFullStop(reason ?? `${withoutCredentials(url)} answers ${status} to ${path}`),
    isWrongValue ? 'Correct the value.' : 'Give the URL of a stackside devnet with --url.',
  );
}

/** Like {@link callDevnet}, but checks the answer against a schema. */
export const devnetJson = async <Schema extends TSchema>(
  schema: Schema,
  url: string,
  path: string,
): Promise<Static<Schema>> => checkAnswer(schema, url, await callDevnet(url, path));

/** GETs a text without a key, with any status. @returns null if nothing answers */
export async function askText(url: string, path: string, clock: Clock): Promise<string | null> {
  try {
    return await (await send(new URL(path, url), { method: 'GET' }, clock)).text();
  } catch {
    return null;
  }
}

const ServerReadiness = Type.Object({
  ready: Type.Boolean(),
  state: Type.Union(serverStates.map((state) => Type.Literal(state))),
  reason: Type.Union([Type.String(), Type.Null()]),
  next: Type.String(),
  observer: Type.Union([Type.String(), Type.Null()]),
  height: Type.Union([Type.Integer(), Type.Null()]),
  node_height: Type.Union([Type.Integer(), Type.Null()]),
  tip_age_seconds: Type.Union([Type.Integer(), Type.Null()]),
  seconds_left: Type.Union([Type.Integer(), Type.Null()]),
});

/** The state of a server, as its `/ready` shows it. */
export type ServerReadiness = Static<typeof ServerReadiness>;

/** GETs JSON without a key, with any status. @returns undefined if the body isn't JSON @throws UnreachableError */
const getJson = async (url: string, path: string, clock: Clock): Promise<unknown> =>
  parsedJson(await (await send(new URL(path, url), { method: 'GET' }, clock)).text());

/** Requests the state of a server. @returns null if no Stackside answers, or 'late' if it doesn't answer in time */
export async function requestReadiness(url: string, clock: Clock): Promise<ServerReadiness | 'late' | null> {
  try {
    const body = await getJson(url, '/ready', clock);
    return Value.Check(ServerReadiness, body) ? body : null;
  } catch (error) {
    if (error instanceof UnreachableError) return error.failure === 'late' ? 'late' : null;
    throw error;
  }
}

const ClusterMember = Type.Object({ cluster: HostState });

/** Requests the state of a server as a host of a cluster. @returns null without a cluster, or if the server doesn't answer */
export async function requestHostState(url: string, clock: Clock): Promise<Static<typeof HostState> | null> {
  try {
    const body = await getJson(url, '/stackside/v1/status', clock);
    return Value.Check(ClusterMember, body) ? body.cluster : null;
  } catch (error) {
    if (error instanceof UnreachableError) return null;
    throw error;
  }
}

const Unready = Type.Object({ reason: Type.String(), next: Type.String() });

/**
 * `stackside status --alive` and `--ready`, for supervisors without an HTTP client: requests `/health`, or `/ready`, which
 * checks that the index is readable and up to date.
 * @returns the word to print if the status is 200
 * @throws OperatorError with the server's reason for another status, or if it can't be reached
 */
export async function askHealth(url: string, word: 'alive' | 'ready'): Promise<string> {
  const path = word === 'ready' ? '/ready' : '/health';
  const { status, body } = await askServer({ url, key: null }, 'GET', path);
  if (status === OK) return word;
  const unready = Value.Check(Unready, body) ? body : null;
  throw new OperatorError(
    `${withoutCredentials(url)} is not ${word}. ${unready?.reason ?? `${path} answers ${status}.`}`,
    unready?.next ?? "Read the server's log.",
  );
}

/**
 * `stackside console`: prints the sign-in link on stdout, and its end on stderr.
 * @throws OperatorError if the server refuses
 */
export async function printSignInLink(connection: Connection): Promise<void> {
  const link = checkAnswer(LinkResponse, connection.url, await callServer(connection, 'POST', LINKS));
  process.stdout.write(`${new URL(link.path, connection.url)}\n`);
  if (link.expires_at === null) return;
  const end = new Date(link.expires_at * 1000).toISOString().slice(11, 16);
  process.stderr.write(`The link signs one browser in, once, until ${end} UTC.\n`);
}
