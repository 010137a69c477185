/** `stackside hooks …`: chainhooks from the command line, through the API of a running Stackside. */

import { readFileSync } from 'node:fs';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Command } from 'commander';
import { OperatorError } from '../base/errors.ts';
import { BackfillShown, DeliveryShown, HookPage, PreviewShown } from '../hooks/schemas.ts';
import { settings } from '../settings/config.ts';
import { ask, type Connection, call, KEY_VARIABLE } from './hooks-client.ts';

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2));

const Consumers = Type.Object({ results: Type.Array(Type.Object({ consumer: Type.String() })) });

function jsonFile(file: string): object {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`${file} can't be read.`, 'Give a file with a definition as JSON, or - for stdin.', {
      cause,
    });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Told below.
  }
  throw new OperatorError(`${file} is not a JSON object.`, 'A definition is what POST /chainhooks/me takes.');
}

const time = (seconds: number | null): string =>
  seconds === null ? '-' : new Date(seconds * 1000).toISOString().replace('.000', '');

const span = (blocks: readonly { height: number }[]): string => {
  const heights = blocks.map(({ height }) => height);
  if (heights.length === 0) return '-';
  const [least, greatest] = [Math.min(...heights), Math.max(...heights)];
  return least === greatest ? String(least) : `${least}-${greatest}`;
};

/** Prints the hooks of one consumer. @param of whose they are, where that is to be said */
async function listOf(connection: Connection, of: string): Promise<void> {
  for (let offset = 0; ; ) {
    const page = Value.Parse(HookPage, await call(connection, 'GET', `/me?limit=60&offset=${offset}`));
    for (const { uuid, status, definition } of page.results) {
      const { name } = definition as { name: string };
      const state = `${status.status}${status.enabled ? '' : ', disabled'}`;
      print(`${uuid}  ${state.padEnd(21)} ${String(status.pending_deliveries).padStart(6)} waiting  ${name}${of}`);
      if (status.interrupted_reason !== null) print(`    ${status.interrupted_reason}`);
    }
    offset += page.results.length;
    if (page.results.length === 0 || offset >= page.total) return;
  }
}

/** The hooks of one consumer where the key is of one or one was named, else those of all. */
async function list(connection: Connection): Promise<void> {
  if (connection.consumer !== undefined) return listOf(connection, '');
  const { body } = await ask(connection, 'GET', '/consumers');
  if (!Value.Check(Consumers, body)) return listOf(connection, '');
  for (const { consumer } of body.results) {
    await listOf({ ...connection, consumer }, body.results.length === 1 ? '' : `  (of ${consumer})`);
  }
}

function printDelivery({ id, sequence, state, reason, apply, rollback, ...one }: Static<typeof DeliveryShown>): void {
  const blocks = `apply ${span(apply)} rollback ${span(rollback)}`;
  const last = one.last_attempt === null ? '' : ` ${one.last_attempt.status_code ?? one.last_attempt.error}`;
  print(
    `${id}  ${String(sequence ?? '-').padStart(6)} ${state.padEnd(9)} ${reason.padEnd(10)} ${time(one.created_at)} ${blocks} tried ${one.attempt_count}${last}`,
  );
}

const DeliveryPage = Type.Object({
  cursor: Type.Object({ next: Type.Union([Type.String(), Type.Null()]) }),
  results: Type.Array(DeliveryShown),
});

interface DeliveryChoice extends Connection {
  state?: string;
  limit: number;
}

const LARGEST_PAGE = 50;

async function deliveries(uuid: string, { state, limit, ...connection }: DeliveryChoice): Promise<void> {
  let cursor: string | null = null;
  for (let left = limit; left > 0; ) {
    const query = new URLSearchParams({ limit: String(Math.min(left, LARGEST_PAGE)) });
    if (state !== undefined) query.set('state', state);
    if (cursor !== null) query.set('cursor', cursor);
    const page = Value.Parse(DeliveryPage, await call(connection, 'GET', `/me/${uuid}/deliveries?${query}`));
    for (const one of page.results) printDelivery(one);
    left -= page.results.length;
    cursor = page.cursor.next;
    if (cursor === null) return;
  }
}

interface Range extends Connection {
  from: number;
  to?: number;
}

async function tryFile(
  file: string,
  { from, to, payloads, ...connection }: Range & { payloads: boolean },
): Promise<void> {
  const { filters, options } = jsonFile(file) as { filters?: unknown; options?: unknown };
  const range = { from_height: from, to_height: to ?? from };
  const body = {
    ...(filters === undefined ? {} : { filters }),
    ...(options === undefined ? {} : { options }),
    ...range,
  };
  const found = Value.Parse(PreviewShown, await call(connection, 'POST', '/preview', body));
  if (payloads) printJson(found.payloads);
  else print(`${found.matched_transactions} transactions in ${found.matched_blocks} blocks match`);
}

const POLL_MS = 200;

async function backfill(uuid: string, choice: Range & { dryRun: boolean; wait: boolean }) {
  const { from, to, dryRun, wait, ...connection } = choice;
  const body = { from_height: from, ...(to === undefined ? {} : { to_height: to }), dry_run: dryRun };
  let job = Value.Parse(BackfillShown, await call(connection, 'POST', `/me/${uuid}/backfills`, body));
  while (wait && (job.state === 'queued' || job.state === 'running')) {
    await Bun.sleep(POLL_MS);
    job = Value.Parse(BackfillShown, await call(connection, 'GET', `/me/${uuid}/backfills/${job.id}`));
  }
  printJson(job);
}

interface RedeliverChoice extends Connection {
  state?: string;
  from?: number;
  to?: number;
}

async function redeliver(uuid: string, id: string | undefined, choice: RedeliverChoice) {
  const { state, from, to, ...connection } = choice;
  if (id !== undefined) {
    printJson(await call(connection, 'POST', `/me/${uuid}/deliveries/${id}/redeliver`));
    return;
  }
  const body = {
    ...(state === undefined ? {} : { state: state.split(',') }),
    ...(from === undefined ? {} : { from_height: from }),
    ...(to === undefined ? {} : { to_height: to }),
  };
  printJson(await call(connection, 'POST', `/me/${uuid}/deliveries/redeliver`, body));
}

/** Adds `hooks` and what is below it. @param height reads a block height from its text */
export function hooksCommand(program: Command, height: (text: string) => number): void {
  const hooks = program
    .command('hooks')
    .summary('Chainhooks of a running Stackside: list, add, show, try, backfill, deliveries, redeliver')
    .description(
      `Chainhooks of a running Stackside. The key is the admin key of the data directory, or one in ${KEY_VARIABLE}.`,
    )
    .addHelpText('after', '\nExample:\n  stackside hooks try hook.json --from 150000 --to 150100');
  const command = (name: string, summary: string) =>
    hooks
      .command(name)
      .summary(summary)
      .description(summary)
      .option(
        '--url <url>',
        'Where its API is [http://127.0.0.1:3999] (STACKSIDE_URL)',
        process.env.STACKSIDE_URL ?? 'http://127.0.0.1:3999',
      )
      .option(
        '--data <dir>',
        `Its data directory, for the admin key [${settings.data.type.default} for a URL of this machine] (STACKSIDE_DATA)`,
      )
      .option('--consumer <name>', 'With the admin key: whose chainhooks, if not your own');

  command('list', 'Chainhooks, newest first; with the admin key those of every consumer').action(list);
  command('add', 'Register a definition')
    .argument('<file>', 'JSON; - for stdin')
    .action(async (file: string, connection: Connection) =>
      printJson(await call(connection, 'POST', '/me', jsonFile(file))),
    );
  command('show', 'A chainhook and where it stands')
    .argument('<uuid>')
    .action(async (uuid: string, connection: Connection) => printJson(await call(connection, 'GET', `/me/${uuid}`)));
  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    command(name, `${enabled ? 'Enable' : 'Disable'} a chainhook`)
      .argument('<uuid>')
      .action(async (uuid: string, connection: Connection) => {
        await call(connection, 'PATCH', `/me/${uuid}/enabled`, { enabled });
      });
  }
  command('remove', 'Delete a chainhook and what it has queued')
    .argument('<uuid>')
    .action(async (uuid: string, connection: Connection) => {
      await call(connection, 'DELETE', `/me/${uuid}`);
    });
  command('try', 'Count what a definition matches in past blocks; nothing is registered or sent')
    .argument('<file>', 'JSON with filters and options; - for stdin')
    .requiredOption('--from <height>', 'First block', height)
    .option('--to <height>', 'Last block; the first if not given', height)
    .option('--payloads', 'Print the first payloads instead', false)
    .action(tryFile);
  command('test', 'Send one delivery at once, and say what came of it')
    .argument('<uuid>')
    .action(async (uuid: string, connection: Connection) =>
      printJson(await call(connection, 'POST', `/me/${uuid}/test`)),
    );
  command('backfill', 'Deliver what past blocks match')
    .argument('<uuid>')
    .requiredOption('--from <height>', 'First block', height)
    .option('--to <height>', 'Last block; the tip if not given', height)
    .option('--dry-run', 'Only count', false)
    .option('--wait', 'Until all is queued', false)
    .action(backfill);
  command('deliveries', 'What was delivered or waits, newest first')
    .argument('<uuid>')
    .option('--state <words>', 'pending, failed, delivered, dead, cancelled; several with commas')
    .option('--limit <number>', 'How many', height, LARGEST_PAGE)
    .action(deliveries);
  command('redeliver', 'Send deliveries again: one by its id, or all that the options name')
    .argument('<uuid>')
    .argument('[id]')
    .option('--state <words>', 'dead, failed, delivered; several with commas')
    .option('--from <height>', 'Of blocks from this one on', height)
    .option('--to <height>', 'Of blocks up to this one', height)
    .action(redeliver);
}
