/** The implementation of `stackside hooks …`, through the API of a running Stackside. */
import { readFileSync } from 'node:fs';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Clock, systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { fileText } from '../../base/files.ts';
import { plural } from '../../base/format.ts';
import { parsedJson } from '../../base/json.ts';
import type { ResumeFrom } from '../../hooks/commands/hooks.ts';
import { failureOf } from '../../hooks/delivery/failure.ts';
import {
  BackfillResponse,
  DeliveryDetail,
  DeliverySummary,
  HookPage,
  type PausedReason,
  PreviewResponse,
  TestResponse,
  Uuid,
} from '../../hooks/routes/schemas.ts';
import { ask, type Connection, call, callFor } from '../cli/client.ts';
import { printableText, printableWords } from '../cli/output.ts';
import { payloadText, span } from './listen.ts';

/** Prints text that may come from consumers, such as names of chainhooks. */
const print = (text: string): void => {
  process.stdout.write(`${printableText(text)}\n`);
};
const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2));

const Consumers = Type.Object({ results: Type.Array(Type.Object({ consumer: Type.String() })) });

function jsonFile(file: string): object {
  const text =
    file === '-' ? readFileSync(0, 'utf8') : fileText(file, 'Give a JSON file with a definition, or - for stdin.');
  const value = parsedJson(text);
  if (typeof value === 'object' && value !== null) return value;
  throw new OperatorError(`${file} is not a JSON object.`, 'Give a definition as POST /chainhooks/me accepts it.');
}

function hookPath(uuid: string): string {
  if (Value.Check(Uuid, uuid)) return `/me/${uuid}`;
  throw new OperatorError(
    `"${uuid}" is not the id of a chainhook.`,
    'Give the id that `stackside hooks list` prints, such as 00000000-0000-4000-8000-000000000001.',
  );
}

const time = (seconds: number | null): string =>
  seconds === null ? '-' : new Date(seconds * 1000).toISOString().replace('.000', '');

const heightsOf = (blocks: readonly { height: number }[]): string =>
  blocks.length === 0 ? '-' : span(blocks.map(({ height }) => height));

/** Texts for the reasons why deliveries wait. */
const pausedTexts: Readonly<Record<PausedReason, string>> = {
  secret_unreadable:
    "the server can't read the signing secret; deliveries wait until the consumer makes a new one or deletes it",
  log_restored:
    'the log was restored to an earlier point; nothing is evaluated or sent until somebody enables or disables it',
};

type ListedHook = Static<typeof HookPage>['results'][number];

async function listHooks(connection: Connection): Promise<ListedHook[]> {
  const hooks: ListedHook[] = [];
  for (;;) {
    const path = `/me?limit=60&offset=${hooks.length}`;
    const page = await callFor(HookPage, connection, 'GET', path);
    hooks.push(...page.results);
    if (page.results.length === 0 || hooks.length >= page.total) return hooks;
  }
}

/** Whether a chainhook was interrupted, or a delivery that it sends failed. A disabled one sends backfills and redeliveries. */
const isFailing = ({ status }: ListedHook): boolean =>
  status.status === 'interrupted' ||
  (status.last_error !== null && (status.enabled || status.next_attempt_at !== null));

function stateText(hook: ListedHook): string {
  const { status, enabled, paused_reason: paused } = hook.status;
  const words = [
    status as string,
    ...(enabled ? [] : ['disabled']),
    ...(paused === null ? [] : ['paused']),
    // For an interrupted hook, the status is enough.
    ...(isFailing(hook) && status !== 'interrupted' ? ['failing'] : []),
  ];
  return words.join(', ');
}

/** Returns the next attempt of the failed delivery as a clause. While the retry is under way, its planned time is over. */
function nextAttemptText({ status: { next_attempt_at: next } }: ListedHook): string {
  if (next === null) return '';
  return next * 1000 <= systemClock.now() ? '; a retry is due or under way' : `; next attempt ${time(next)}`;
}

/** Returns the problems that keep deliveries of a hook from their receiver, as sentences. */
function problemsOf(hook: ListedHook): string[] {
  const { status } = hook;
  const problems: string[] = [];
  if (status.interrupted_reason !== null) problems.push(status.interrupted_reason);
  if (status.interrupted_reason === null && isFailing(hook) && status.last_error !== null) {
    problems.push(`failed ${time(status.last_failed_at)}: ${status.last_error}${nextAttemptText(hook)}`);
  }
  if (status.paused_reason !== null) problems.push(`${status.paused_reason}: ${pausedTexts[status.paused_reason]}`);
  return problems;
}

/** Chainhooks by consumer; null is the consumer of the key. */
type HookLists = readonly { consumer: string | null; hooks: readonly ListedHook[] }[];

/** A table of hooks with headings; failing hooks come first, and a hook's problems are below it. */
function printHooks(lists: HookLists): void {
  const rows = lists
    .flatMap(({ consumer, hooks }) => hooks.map((hook) => ({ consumer, hook, state: stateText(hook) })))
    .sort((a, b) => Number(isFailing(b.hook)) - Number(isFailing(a.hook)));
  if (rows.length === 0) {
    print('No chainhooks are registered.');
    return;
  }
  const width = Math.max('STATE'.length, ...rows.map(({ state }) => state.length));
  const line = (id: string, state: string, waiting: string, name: string, consumer: string | null) =>
    print(
      `${id.padEnd(36)}  ${state.padEnd(width)}  ${waiting.padStart(7)}  ${name}${consumer === null ? '' : `  ${consumer}`}`,
    );
  line('ID', 'STATE', 'WAITING', 'NAME', rows.some(({ consumer }) => consumer !== null) ? '(CONSUMER)' : null);
  for (const { hook, state, consumer } of rows) {
    const { name } = hook.definition as { name: string };
    const waiting = String(hook.status.pending_deliveries);
    line(hook.uuid, state, waiting, printableWords(name), consumer === null ? null : `(${consumer})`);
    for (const problem of problemsOf(hook)) print(`    ${problem}`);
  }
}

/** Connections for every consumer with chainhooks; or only for the key's or the named consumer. */
async function listOwners(connection: Connection): Promise<Connection[]> {
  if (connection.consumer !== undefined) return [connection];
  const { body } = await ask(connection, 'GET', '/consumers');
  return Value.Check(Consumers, body)
    ? body.results.map(({ consumer }) => ({ ...connection, consumer }))
    : [connection];
}

/** Prints the hooks of the key's or the named consumer, or otherwise of all consumers. */
export async function list(connection: Connection, { json }: { json: boolean }): Promise<void> {
  const all = await listOwners(connection);
  // Only the operator's list names the consumers; as text, only if there are several.
  const isNamed = all[0] !== connection && (json || all.length > 1);
  const lists = [];
  for (const owner of all) {
    lists.push({ consumer: isNamed ? (owner.consumer ?? null) : null, hooks: await listHooks(owner) });
  }
  if (json) printJson(lists);
  else printHooks(lists);
}

function printDelivery({ id, sequence, state, reason, apply, rollback, ...row }: Static<typeof DeliverySummary>): void {
  const blocks = `apply ${heightsOf(apply)} rollback ${heightsOf(rollback)}`;
  const last = row.last_attempt === null ? '' : ` ${row.last_attempt.status_code ?? row.last_attempt.error}`;
  print(
    `${id}  ${String(sequence ?? '-').padStart(6)} ${state.padEnd(9)} ${reason.padEnd(10)} ${time(row.created_at)} ${blocks} tried ${row.attempt_count}${last}`,
  );
}

const DeliveryPage = Type.Object({
  cursor: Type.Object({ next: Type.Union([Type.String(), Type.Null()]) }),
  results: Type.Array(DeliverySummary),
});

interface DeliveryChoice {
  json: boolean;
  /** States of deliveries, separated by commas. */
  state?: string;
  limit: number;
}

/** Maximum size of a page of the API. */
const MAX_PAGE = 50;

/** Prints deliveries, newest first. */
export async function deliveries(
  connection: Connection,
  uuid: string,
  { state, limit, json }: DeliveryChoice,
): Promise<void> {
  const all: unknown[] = [];
  let cursor: string | null = null;
  for (let left = limit; left > 0; ) {
    const query = new URLSearchParams({ limit: String(Math.min(left, MAX_PAGE)) });
    if (state !== undefined) query.set('state', state);
    if (cursor !== null) query.set('cursor', cursor);
    const page = await callFor(DeliveryPage, connection, 'GET', `${hookPath(uuid)}/deliveries?${query}`);
    if (json) all.push(...page.results);
    else for (const delivery of page.results) printDelivery(delivery);
    left -= page.results.length;
    cursor = page.cursor.next;
    if (cursor === null) break;
  }
  if (json) printJson(all);
}

interface Range {
  fromHeight: number;
  toHeight?: number;
}

/** Prints the number of past blocks and transactions that a definition matches, or the first payloads. */
export async function tryFile(
  connection: Connection,
  file: string,
  { fromHeight, toHeight, payloads, json }: Range & { payloads: boolean; json: boolean },
): Promise<void> {
  const { filters, options } = jsonFile(file) as { filters?: unknown; options?: unknown };
  const body = { filters, options, from_height: fromHeight, to_height: toHeight ?? fromHeight };
  const preview = await callFor(PreviewResponse, connection, 'POST', '/preview', body);
  const { matched_transactions, matched_blocks } = preview;
  if (payloads) printJson(preview.payloads);
  else if (json) printJson({ matched_transactions, matched_blocks });
  else {
    const verb = matched_transactions === 1 ? 'matches' : 'match';
    print(`${plural(matched_transactions, 'transaction')} in ${plural(matched_blocks, 'block')} ${verb}`);
  }
}

const POLL_MS = 200;

/** Starts a backfill and prints its state. @throws OperatorError if it fails while the command waits for it */
export async function backfill(
  connection: Connection,
  uuid: string,
  { fromHeight, toHeight, dryRun, wait }: Range & { dryRun: boolean; wait: boolean },
): Promise<void> {
  const body = { from_height: fromHeight, to_height: toHeight, dry_run: dryRun };
  let job = await callFor(BackfillResponse, connection, 'POST', `${hookPath(uuid)}/backfills`, body);
  while (wait && (job.state === 'queued' || job.state === 'running')) {
    await Bun.sleep(POLL_MS);
    job = await callFor(BackfillResponse, connection, 'GET', `${hookPath(uuid)}/backfills/${job.id}`);
  }
  printJson(job);
  if (job.state === 'failed') {
    throw new OperatorError(
      `The backfill failed at block ${job.next_height}: ${job.error}`,
      'Remove the cause; hook_backfill_failed in the log has details. Then start another backfill from that block.',
    );
  }
}

interface RedeliverChoice extends Partial<Range>, Pick<DeliveryChoice, 'state'> {
  /** First and last time of creation, in Unix seconds. */
  since?: number;
  until?: number;
}

/** Queues deliveries again and prints the result. @param id id of one delivery; undefined for all that match the choice */
export async function redeliver(
  connection: Connection,
  uuid: string,
  id: string | undefined,
  { state, fromHeight, toHeight, since, until }: RedeliverChoice,
): Promise<void> {
  const path = `${hookPath(uuid)}/deliveries`;
  const selection = { state: state?.split(','), from_height: fromHeight, to_height: toHeight, since, until };
  const selects = Object.values(selection).some((value) => value !== undefined);
  if (selects === (id !== undefined)) {
    throw new OperatorError(
      id === undefined
        ? 'Choose the deliveries to send again.'
        : "The id of a delivery can't be combined with options that select deliveries.",
      `Give the id of one delivery, which \`stackside hooks deliveries ${uuid}\` prints, or --state, --from-height, --to-height, --since or --until.`,
    );
  }
  if (id !== undefined) {
    printJson(await call(connection, 'POST', `${path}/${encodeURIComponent(id)}/redeliver`));
    return;
  }
  printJson(await call(connection, 'POST', `${path}/redeliver`, selection));
}

type TestResult = Static<typeof TestResponse>;

/** An attempt to deliver, and whether the receiver accepted it. */
interface ReportedAttempt
  extends Pick<TestResult, 'ok' | 'status_code' | 'error' | 'duration_ms' | 'response_excerpt'> {
  id: string;
  payload: unknown;
}

/**
 * Prints an attempt.
 * @param json the object to print in place of the text; null for text
 * @throws OperatorError if the receiver did not accept it
 */
function reportAttempt(attempt: ReportedAttempt, json: object | null): void {
  const { id, payload, ok, status_code: status, error, duration_ms: duration, response_excerpt: excerpt } = attempt;
  if (json !== null) printJson(json);
  else {
    const answer = status === null ? `did not answer (${error})` : `answered ${status}`;
    print(`${id}  ${payloadText(payload)}`);
    print(`The receiver ${answer} after ${duration} ms.`);
    if (excerpt !== null && excerpt !== '') print(`Its answer: ${excerpt}`);
  }
  if (ok) return;
  throw new OperatorError(
    `The receiver failed: ${failureOf({ statusCode: status, error })}.`,
    'Repair the receiver, or change the URL of the chainhook.',
  );
}

const FailingHook = Type.Object({
  status: Type.Object({
    status: Type.String(),
    enabled: Type.Boolean(),
    failing_delivery: Type.Union([Type.String(), Type.Null()]),
    next_attempt_at: Type.Union([Type.Integer(), Type.Null()]),
    paused_reason: Type.Union([Type.String(), Type.Null()]),
  }),
});

/** Returns the id of the failed delivery of a chainhook, and the status of the chainhook. */
async function findFailing(connection: Connection, uuid: string) {
  const { status } = await callFor(FailingHook, connection, 'GET', hookPath(uuid));
  if (status.failing_delivery !== null) return { id: status.failing_delivery, status };
  throw new OperatorError(
    'No failed delivery blocks the chainhook.',
    `\`stackside hooks redeliver ${uuid} --state dead\` sends deliveries that were given up again.`,
  );
}

/** Seconds until the result of a retry must be there: receivers have 25 by default. */
const RETRY_TIMEOUT_SECONDS = 60;

/**
 * Sends the failed delivery of a chainhook again, and prints the result of the attempt.
 * @throws OperatorError if the chainhook sends no failed delivery, or the receiver did not accept it
 */
export async function retry(
  connection: Connection,
  uuid: string,
  { json }: { json: boolean },
  clock: Clock = systemClock,
): Promise<void> {
  const { id, status } = await findFailing(connection, uuid);
  if (status.status === 'interrupted')
    throw new OperatorError(
      'The chainhook was interrupted, so it sends nothing.',
      `\`stackside hooks enable ${uuid}\` enables it, and the failed delivery is sent first.`,
    );
  const path = `${hookPath(uuid)}/deliveries/${encodeURIComponent(id)}`;
  const read = () => callFor(DeliveryDetail, connection, 'GET', path);
  let delivery = await read();
  const isUnsent = !status.enabled && delivery.state === 'failed' && status.next_attempt_at === null;
  if (status.paused_reason !== null || isUnsent)
    throw new OperatorError(
      'The chainhook is disabled or paused, so it sends nothing.',
      `\`stackside hooks list\` shows the reason, and \`stackside hooks enable ${uuid}\` enables it.`,
    );
  const { attempt_count: attemptsBefore } = delivery;
  if (delivery.state !== 'in_flight') await call(connection, 'POST', `${path}/redeliver`);
  const end = clock.now() + RETRY_TIMEOUT_SECONDS * 1000;
  while (delivery.attempt_count === attemptsBefore) {
    if (!['pending', 'in_flight', 'failed'].includes(delivery.state))
      throw new OperatorError(
        `The delivery is ${delivery.state} without another attempt.`,
        `\`stackside hooks deliveries ${uuid}\` shows the reason.`,
      );
    if (clock.now() > end)
      throw new OperatorError(
        `The retry has no result after ${RETRY_TIMEOUT_SECONDS} seconds.`,
        `\`stackside hooks deliveries ${uuid}\` shows the result later.`,
      );
    await Bun.sleep(POLL_MS);
    delivery = await read();
  }
  const { payload, attempts, ...summary } = delivery;
  const [attempt] = attempts;
  reportAttempt({ ...attempt!, id, ok: summary.state === 'delivered', payload }, json ? summary : null);
}

/** Drops the failed delivery that blocks a chainhook, and prints that. @throws OperatorError if none does */
export async function skip(connection: Connection, uuid: string, { json }: { json: boolean }): Promise<void> {
  const { id } = await findFailing(connection, uuid);
  await call(connection, 'POST', `${hookPath(uuid)}/deliveries/${encodeURIComponent(id)}/skip`);
  if (json) printJson({ id });
  else print(`Dropped delivery ${id}.`);
}

/** Registers a chainhook from a file and prints it. */
export async function add(connection: Connection, file: string): Promise<void> {
  printJson(await call(connection, 'POST', '/me', jsonFile(file)));
}

/** Prints a chainhook with its status. */
export async function show(connection: Connection, uuid: string): Promise<void> {
  printJson(await call(connection, 'GET', hookPath(uuid)));
}

const UpdateResponse = Type.Object({ updated_uuids: Type.Array(Type.String()) });

/** Resumes the paused chainhooks of the key's or the named consumer, or otherwise of all, and prints each. */
async function enablePaused(connection: Connection): Promise<void> {
  const body = { enabled: true, filters: { paused: true } };
  const enabled: string[] = [];
  for (const owner of await listOwners(connection)) {
    const { updated_uuids: uuids } = await callFor(UpdateResponse, owner, 'PATCH', '/me/enabled', body);
    for (const uuid of uuids) print(`Enabled ${uuid}.`);
    enabled.push(...uuids);
  }
  if (enabled.length === 0) print('No chainhook is paused.');
}

/** Enables a chainhook, or resumes all paused ones. */
export async function enable(
  connection: Connection,
  uuid: string | undefined,
  { paused, resumeFrom }: { paused: boolean; resumeFrom?: ResumeFrom },
): Promise<void> {
  if (paused === (uuid !== undefined)) {
    throw new OperatorError(
      paused ? "The id of a chainhook can't be combined with --paused." : 'Choose the chainhook to enable.',
      'Give the id that `stackside hooks list` prints, or --paused.',
    );
  }
  await (uuid === undefined ? enablePaused(connection) : setEnabled(connection, uuid, true, resumeFrom));
}

/** Enables or disables a chainhook, and prints that. @param from where a disabled chainhook continues; undefined for the server's choice */
export async function setEnabled(
  connection: Connection,
  uuid: string,
  enabled: boolean,
  from?: ResumeFrom,
): Promise<void> {
  await call(connection, 'PATCH', `${hookPath(uuid)}/enabled`, { enabled, resume_from: from });
  print(`${enabled ? 'Enabled' : 'Disabled'} ${uuid}.`);
}

/** Deletes a chainhook and its queue, and prints that. */
export async function remove(connection: Connection, uuid: string): Promise<void> {
  await call(connection, 'DELETE', hookPath(uuid));
  print(`Deleted ${uuid}.`);
}

/** Sends a test delivery and prints the result. @throws OperatorError if the receiver did not accept it */
export async function sendTest(connection: Connection, uuid: string, { json }: { json: boolean }): Promise<void> {
  const result = await callFor(TestResponse, connection, 'POST', `${hookPath(uuid)}/test`);
  reportAttempt({ ...result, id: result.webhook_id }, json ? result : null);
}
