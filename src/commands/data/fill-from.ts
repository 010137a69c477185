/**
 * `stackside fill --from`: a chain that begins earlier, in a new data directory. The blocks below the first one of the present
 * data come from the node, and the events of its journal follow. Its chainhooks are copied at the end: their commands were
 * applied to a chain that began later, and would not have the same effect here.
 */
import { basename } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { isInside, storedSecret, writeSecret } from '../../base/files.ts';
import { onFile } from '../../base/system-errors.ts';
import { mayBeEventPath } from '../../chain/payload-reader.ts';
import { adminKeyFile } from '../../hooks/access/keys.ts';
import { secretsKeyFile } from '../../hooks/delivery/sealing.ts';
import { type HookCommands, silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import { AskedNode } from '../../node/facts.ts';
import { maturityIn } from '../../node/fill.ts';
import type { NodeRpc } from '../../node/rpc.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { sendManyIn } from '../../settings/data.ts';
import { journalPath } from '../../store/files/database.ts';
import { LockHeldError, lockUnfinished } from '../../store/files/lock.ts';
import type { OlderEntries } from '../../store/files/older-entries.ts';
import { beginMaking, installStagedFiles, isInstalled } from '../../store/files/staged-files.ts';
import { stagingOf } from '../../store/files/unfinished.ts';
import { COMMAND_PATH, commandOf, commandsOf } from '../../store/ingest/commands.ts';
import { beginningOf } from '../../store/ingest/history-start.ts';
import { type Ingest, openIngest } from '../../store/ingest/ingest.ts';
import { ForeignEntryError, journalAlone } from '../../store/ingest/writer.ts';
import { CHAIN_START, type Entry, type Head } from '../../store/log/entry.ts';
import type { HistoryStart } from '../../store/queries/blocks/chain.ts';
import { openSnapshots } from '../../store/read/snapshots.ts';
import { interruptible } from '../cli/output.ts';
import { type Output, progressReport } from '../cli/progress.ts';
import { beginHistory } from '../serve/history-start.ts';
import { withArchive } from './archived-entries.ts';
import { count, errorOfFill, type FillSource, fillUpTo, infoOfChain, linesOf, requireToken } from './fill.ts';
import { entriesAfter, requireNext } from './import-journal.ts';
import { damaged, directoryJournal, type JournalSource, lacking } from './journal-sources.ts';

/** @throws OperatorError where the data has the whole chain, or begins at the height or below */
function requireLater(directory: string, from: number) {
  const { start, chainId, ...rest } = beginningOf(directory);
  if (start === null || chainId === null) {
    throw new OperatorError(
      `The index in ${directory} has the chain from its beginning, or no block yet: nothing is earlier.`,
      'Omit --from and --into to fill the blocks up to the tip of the node.',
    );
  }
  if (from >= start.height) {
    throw new OperatorError(
      `The index in ${directory} begins at block ${start.height}, and --from names ${from}.`,
      'Give --from a lower height.',
    );
  }
  return { start, chainId, ...rest };
}

/** The name under which the new journal has how far the present one was read. */
const SOURCE = 'fill';

/** Applies the events of the present journal to the new index, and remembers how far it is. */
export function follower(ingest: Ingest, source: JournalSource, isOfHooks: (type: string) => boolean) {
  let last: Head | null = null;

  async function head(): Promise<Head> {
    const { rows: id } = ingest.imported(SOURCE);
    const chain = id === 0 ? CHAIN_START : await source.chainAt(id);
    if (chain === null || chain === 'trimmed') throw lacking(source.location, id);
    return { id, chain };
  }

  const readUpTo = (id: number): void => ingest.setImported(SOURCE, { rows: id, digest: '' });

  function command(entry: Entry): void {
    const { uuid, type, args, steps } = commandOf(entry.text);
    if (isOfHooks(type)) return;
    readUpTo(entry.id - 1);
    ingest.commitToJournal();
    // In the transaction of the command, so that a run that goes on doesn't apply it again.
    readUpTo(entry.id);
    ingest.entries.command(
      { uuid, type, args, isBatched: steps !== undefined },
      entry.receivedAt,
      systemClock,
      journalAlone,
    );
  }

  return {
    /** Applies all that the journal has. */
    async follow(report: (id: number, of: number) => void): Promise<void> {
      last ??= await head();
      for await (const { list, last: newest } of entriesAfter(source, last.id)) {
        for (const entry of list) {
          requireNext(entry, last);
          last = entry;
          // What the node was asked about the present beginning does not concern the new one.
          if (mayBeEventPath(entry.path)) ingest.apply(entry);
          else if (entry.path === COMMAND_PATH) command(entry);
        }
        readUpTo(last.id);
        ingest.commitToJournal();
        report(last.id, newest);
      }
    },
    /** Number of the last entry. */
    last: (): number => last?.id ?? 0,
  };
}

/** Opens the present data, which no server may change from now on. @throws OperatorError while one does */
function openPresent(settings: SettingsOf<'fill'>, into: string): Ingest {
  const { data, network: chainId, logLevel } = settings;
  try {
    return openIngest({ directory: data, chainId, machine: silentMachine, log: createLog(logLevel) });
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    throw new OperatorError(
      `A server still writes to ${data}. ${into} has its blocks, and lacks its chainhooks.`,
      'Stop the server, and run the command again: it goes on from here.',
      { cause: error },
    );
  }
}

/** Copies the chainhooks with what waits to be delivered. @throws OperatorError where the chains differ */
async function copyHooks(present: Ingest, ingest: Ingest, start: HistoryStart, data: string): Promise<number> {
  const [theirs, ours] = [present.history.tip(), ingest.history.tip()];
  if (theirs.height !== ours.height || Buffer.compare(theirs.indexBlockHash, ours.indexBlockHash) !== 0) {
    throw new OperatorError(
      `The tip of the new chain, at height ${ours.height}, is another than that of ${data}, at height ${theirs.height}.`,
      'Check the data with stackside check --deep.',
    );
  }
  const commands = commandsOf<HookCommands>(ingest.commander(systemClock));
  const { records, rowsToCopy } = present.hooks;
  const { evaluated, evaluatedAt } = records.progress();
  await commands.run('hook.begin_copy', { evaluated, evaluatedAt, epoch: records.epoch() });
  for (const rows of rowsToCopy(start)) await commands.run('hook.copy', rows);
  return records.counts().reduce((sum, { count: hooks }) => sum + hooks, 0);
}

/** Tenures after which rewards mature, by the present data; null where it has no reward. */
async function maturityAt(directory: string, { node, rate }: FillSource): Promise<number | null> {
  const snapshots = openSnapshots(directory);
  try {
    return await maturityIn(snapshots, new AskedNode(node, { rate, clock: systemClock }));
  } finally {
    snapshots.close();
  }
}

/** Copies the keys that the server made, without which nobody reads the secrets of chainhooks. */
function copyKeys(from: string, to: string): void {
  for (const fileOf of [adminKeyFile, secretsKeyFile]) {
    const text = storedSecret(fileOf(from));
    if (text !== null) writeSecret(fileOf(to), text);
  }
}

export interface FillFromOptions {
  /** Height of the first block. */
  from: number;
  /** The new data directory. */
  into: string;
  /** Requests to the node a second at most. */
  rate: number;
}

/**
 * Makes the files in the staging directory.
 * @param present is called with the present data, which stays open until the new data is in its place
 * @returns what is printed
 */
async function makeFiles(
  settings: SettingsOf<'fill'>,
  source: FillSource,
  journal: JournalSource,
  { from, into }: FillFromOptions,
  { start, lowestBurnHeight, sendMany }: ReturnType<typeof requireLater>,
  output: Output,
  hold: (present: Ingest) => void,
): Promise<string[]> {
  const { data } = settings;
  const staging = stagingOf(into, 'fill');
  const ofHooks = new Set<string>();
  const given = sendManyIn(settings);
  const ingest = openIngest({
    directory: staging,
    chainId: source.chainId,
    sendMany: { mainnet: given.mainnet ?? sendMany.mainnet, testnet: given.testnet ?? sendMany.testnet },
    machine(parts) {
      const machine = silentMachine(parts);
      for (const type of Object.keys(machine.commands)) ofHooks.add(type);
      return machine;
    },
    log: createLog(settings.logLevel),
  });
  try {
    return await interruptible(ingest.close, async () => {
      await beginHistory({ fromBlock: from, data: into }, ingest, { node: source.node, clock: systemClock });
      const below = { indexBlockHash: start.indexBlockHash, height: start.height - 1 };
      const maturity = await maturityAt(data, source);
      const burnBlocksBelow = lowestBurnHeight ?? start.burnBlockHeight + 1;
      const filled = await fillUpTo(below, ingest, staging, { ...source, burnBlocksBelow, maturity }, output);
      const { follow, last } = follower(ingest, journal, (type) => ofHooks.has(type));
      const progress = progressReport(data, output);
      const report = (id: number, of: number): void =>
        progress.update({ rows: id, height: ingest.tipHeight(), read: id, size: of });
      await follow(report);
      const present = openPresent(settings, into);
      hold(present);
      // What the server accepted meanwhile.
      await follow(report);
      progress.done();
      ingest.commit();
      const hooks = await copyHooks(present, ingest, start, data);
      return [
        ...(filled.blocks === 0 ? [] : linesOf(filled)),
        `followed the journal of ${data} up to entry ${last()}, and copied ${count(hooks, 'chainhook')}`,
      ];
    });
  } finally {
    ingest.close();
  }
}

/** @throws as {@link runFillFrom} */
async function fillInto(
  settings: SettingsOf<'fill'>,
  node: NodeRpc,
  options: FillFromOptions,
  output: Output,
  older: OlderEntries | null,
): Promise<string> {
  const { data } = settings;
  const { from, into, rate } = options;
  const authorization = requireToken(settings.nodeAuthFile);
  const beginning = requireLater(data, from);
  const { start, chainId } = beginning;
  await infoOfChain(node, chainId);
  using held = new DisposableStack();
  const journal = directoryJournal(data, older);
  held.defer(journal.close);
  if ((await journal.chainAt(1)) === 'trimmed') throw lacking(data, 1);
  held.defer(onFile(into, () => lockUnfinished(into)));
  beginMaking(into, 'fill', Buffer.from(JSON.stringify({ from, to: start.indexBlockHash.toHex() })));
  // A run that was killed while it moved the files had made them whole.
  const isMade = isInstalled(into, 'fill', basename(journalPath(into)));
  const lines = isMade
    ? []
    : await makeFiles(
        settings,
        { node, chainId, authorization, rate },
        journal,
        options,
        beginning,
        output,
        (present) => held.defer(present.close),
      );
  installStagedFiles(into, 'fill', () => copyKeys(data, into));
  return [
    ...lines,
    `start the server with --data ${into} from now on: on ${data} it would send what it has once more`,
    '',
  ].join('\n');
}

/**
 * Makes a data directory whose chain begins earlier than that of the setting. It goes on where it broke off.
 * @throws OperatorError; PassingError where the node is away
 */
export async function runFillFrom(
  settings: SettingsOf<'fill'>,
  node: NodeRpc,
  options: FillFromOptions,
  output: Output = process.stderr,
): Promise<string> {
  const { into } = options;
  if (isInside(into, settings.data)) {
    throw new OperatorError(`--into names ${into}, which is in the data directory.`, 'Give a directory beside it.');
  }
  try {
    return await withArchive(settings, (older) => fillInto(settings, node, options, output, older));
  } catch (error) {
    if (error instanceof ForeignEntryError) throw damaged(settings.data, error.id);
    throw errorOfFill(error, settings.nodeRpc);
  }
}
