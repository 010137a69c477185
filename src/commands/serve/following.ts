/**
 * `serve --from` keeps up with the archive: while blocks are missing, or the node sends nothing, the events of the archive are
 * offered to the writer, like a node's. So the data's own log stays the truth, and an event that it has changes nothing.
 */

import { entriesAfter, requireIdentity } from '../../archive/archive.ts';
import { filesAt } from '../../archive/open.ts';
import { type FollowEvent, findEntryBefore, findEntryBelow, heightOf } from '../../archive/restore.ts';
import { type Clock, microseconds } from '../../base/clock.ts';
import { startLoop } from '../../base/service.ts';
import type { IntakeOptions } from '../../node/event-intake.ts';
import type { ObjectStoreReads } from '../../storage/object-store.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { type MissingParent, UnknownParentError } from '../../store/ingest/known-blocks.ts';
import { lastIdentityIn } from '../../store/ingest/log-identity.ts';
import type { Entry } from '../../store/log/entry.ts';
import type { ServedCluster } from '../cluster/host.ts';
import { type GapFillingOptions, isChainFailure, noLease } from './gap-filling.ts';
import { openSource } from './restore-on-start.ts';
import type { ServerContext } from './server-context.ts';

/** Milliseconds between two looks at the archive. */
const LOOK_MS = 5_000;
/** Milliseconds without an event after which the node counts as silent. */
const SILENT_MS = 15_000;
/** Milliseconds without a block after which the archive may be applied above the node's tip. */
const AWAY_MS = 600_000;

/**
 * Heights go down at a fork, by fewer blocks than this. So reading starts this many blocks below the tip, and looks for a missing
 * block behind blocks that are this much too high.
 */
const MAX_FORK_BLOCKS = 100;
/** Maximum number of segments to read backwards to find the last common block. */
const MAX_STEPS_BACK = 100;

const CHAIN_PATHS: readonly string[] = ['/new_block', '/new_burn_block', '/attachments/new'];
const MEMPOOL_PATHS: readonly string[] = ['/new_mempool_tx', '/drop_mempool_tx'];

type NodeActivity = ReturnType<typeof nodeActivity>;

/** Tracks the blocks that the node posts. */
export function nodeActivity(clock: Pick<Clock, 'monotonic'>, history: Pick<Ingest['history'], 'tip' | 'isKnown'>) {
  let eventAt = clock.monotonic();
  let blockAt = Number.NEGATIVE_INFINITY;
  /** Height of the node's newest block, if known. */
  let height = 0;
  /** Index block hash of the parent that was missing when the node posted its newest block; null if none was. */
  let parentHash: Uint8Array | null = null;
  const isBlockMissing = (): boolean => parentHash !== null && !history.isKnown(parentHash);

  return {
    /** Makes a function that receives the node's events. */
    around:
      (receive: IntakeOptions['receive']): IntakeOptions['receive'] =>
      async (event) => {
        eventAt = clock.monotonic();
        if (event.path !== '/new_block') return receive(event);
        blockAt = eventAt;
        const outcome = await receive(event);
        [height, parentHash] = [history.tip().height, null];
        return outcome;
      },

    /** Records that the parent of a block that the node posted is missing. */
    fill(parent: MissingParent): void {
      [height, parentHash] = [parent.height, parent.indexBlockHash];
    },

    /** Whether the archive is needed: blocks are missing, or the node sends nothing. */
    needsArchive: (): boolean => isBlockMissing() || clock.monotonic() - eventAt > SILENT_MS,

    /** Whether the index lacks the parent of the node's newest block. */
    isBlockMissing,

    /** The highest block that may be taken from the archive: it must not outvote the node. Infinite if the node posts none. */
    limit: (): number => (clock.monotonic() - blockAt > AWAY_MS ? Number.POSITIVE_INFINITY : height),
  };
}

/**
 * Whether data were restored to an earlier point: then they have another identity than their first entry gave them. They don't
 * follow the archive that they came from, since it still has the entries that the operator discarded.
 */
function isOfEarlierPoint({ entries, identity }: Pick<Ingest, 'entries' | 'identity'>): boolean {
  const [first] = entries.after(0);
  return first !== undefined && lastIdentityIn([first]) !== identity();
}

/** Yields the entries of an archive, from an entry on, until the signal is aborted. */
async function* entriesFrom(archive: ObjectStoreReads, first: number, signal: AbortSignal): AsyncGenerator<Entry> {
  for await (const entries of entriesAfter(archive, { id: first - 1 })) {
    for (const entry of entries) {
      if (signal.aborted) return;
      yield entry;
    }
  }
}

interface FollowingOptions extends Pick<GapFillingOptions, 'receive' | 'claim' | 'clock'> {
  location: string;
  /** Opens the archive again, as it is now. */
  open: () => Promise<ObjectStoreReads>;
  ingest: Pick<Ingest, 'history' | 'publish'>;
  node: Omit<NodeActivity, 'around' | 'fill'>;
  log: (event: FollowEvent) => void;
}

/** Follows an archive until it is stopped. */
export function archiveFollowing(options: FollowingOptions) {
  const { location: place, open, ingest, receive, node, claim, clock, log } = options;
  const { history } = ingest;
  /** Number of the archive's next entry; null until it is found by the height of the tip. */
  let next: number | null = null;
  let isFollowing = false;

  /** Whether the node has posted no block for so long that the archive may be applied above its tip. */
  const isAlone = (): boolean => node.limit() === Number.POSITIVE_INFINITY;

  /** Offers an entry, unless it is no event of the chain, or of the mempool while the node is away. */
  async function offer({ path, text }: Entry): Promise<void> {
    if (!CHAIN_PATHS.includes(path) && !(isAlone() && MEMPOOL_PATHS.includes(path))) return;
    await receive({ path, text, receivedAt: microseconds(clock) });
    await clock.turn();
  }

  /** Whether the node's missing block hasn't come. Commits the offered blocks first, because the history shows no others. */
  function isBlockMissing(): boolean {
    ingest.publish();
    return node.isBlockMissing();
  }

  /** Whether a block is below the start of a partial history. */
  const isBelowStart = (height: number): boolean => history.bottom() > 0 && height <= history.bottom();

  /**
   * Offers the archive's entries in order, up to the first block above the node's tip. Bitcoin must not run ahead of the node
   * either, so a Bitcoin block waits for the block after it, unless the node is away.
   * @returns number of the first block above the tip; null if there is none
   */
  async function offerUpToTip(archive: ObjectStoreReads, from: number, signal: AbortSignal): Promise<number | null> {
    next = from;
    const waitingBitcoinBlocks: Entry[] = [];
    for await (const entry of entriesFrom(archive, from, signal)) {
      const height = heightOf(entry);
      if (height !== null && height > node.limit()) return entry.id;
      if (entry.path === '/new_burn_block' && !isAlone()) {
        waitingBitcoinBlocks.push(entry);
        continue;
      }
      if (height !== null || isAlone()) {
        for (const bitcoinBlock of waitingBitcoinBlocks.splice(0)) await offer(bitcoinBlock);
      }
      if (height === null || !isBelowStart(height)) await offer(entry);
      if (waitingBitcoinBlocks.length === 0) next = entry.id + 1;
    }
    return null;
  }

  /**
   * Skips blocks above the node's tip, and offers the lower ones up to the missing block. The archive has it after higher blocks
   * if its server switched to that branch later. The next look starts with the skipped blocks, which the node may need by then.
   */
  async function offerMissingBlock(archive: ObjectStoreReads, from: number, signal: AbortSignal): Promise<void> {
    for await (const entry of entriesFrom(archive, from, signal)) {
      const height = heightOf(entry);
      if (height === null) continue;
      if (!isBlockMissing() || height > node.limit() + MAX_FORK_BLOCKS) return;
      if (height <= node.limit() && !isBelowStart(height)) await offer(entry);
    }
  }

  /** Offers the next entries. While a block's parent is missing, starts at earlier segments: the archive left this chain there. */
  async function readAll(signal: AbortSignal): Promise<void> {
    const archive = await open();
    let from = next ?? (await findEntryBelow(archive, history.tip().height - MAX_FORK_BLOCKS));
    for (let steps = 0; ; steps++) {
      try {
        const aboveTip = await offerUpToTip(archive, from, signal);
        if (aboveTip !== null && isBlockMissing()) await offerMissingBlock(archive, aboveTip, signal);
        return;
      } catch (error) {
        if (!(error instanceof UnknownParentError) || steps === MAX_STEPS_BACK) throw error;
        const earlier = await findEntryBefore(archive, from);
        if (earlier === from) throw error;
        from = earlier;
      }
    }
  }

  async function turn(signal: AbortSignal): Promise<void> {
    if (!node.needsArchive()) {
      isFollowing = false;
      return;
    }
    const release = await claim();
    if (release === null) return;
    try {
      const startHeight = history.tip().height;
      await readAll(signal);
      const { height } = history.tip();
      const blocks = height - startHeight;
      // After a failure, also if the archive has no block more.
      if ((blocks > 0 && !isFollowing) || loop.failure() !== null) {
        log({ event: 'archive_followed', place, blocks, height });
      }
      isFollowing ||= blocks > 0;
    } finally {
      await release();
    }
  }

  const loop = startLoop({
    clock,
    everyMs: LOOK_MS,
    turn,
    passes: isChainFailure,
    failed: ({ message: reason }) => log({ event: 'service_failing', service: 'following', place, reason }),
  });
  return {
    /** Why the archive can't be followed now; null if it can. */
    state: () => ({ failure: loop.failure() }),
    stop: () => loop.stop(),
  };
}

interface FollowingBase extends Pick<ServerContext, 'settings' | 'log'> {
  environment: Pick<ServerContext['environment'], 'clock'>;
}

/** Follows the archive of --from, and tracks the blocks that the node posts. @returns null for data that don't follow one */
export function serverFollowing(
  { settings, environment, log }: FollowingBase,
  ingest: Ingest,
  cluster: ServedCluster | null,
  receive: IntakeOptions['receive'],
) {
  const { from } = settings;
  const { clock } = environment;
  if (from === null) return null;
  const { location } = filesAt(from, settings.data, clock);
  if (isOfEarlierPoint(ingest)) {
    log({
      event: 'setup_warning',
      place: location,
      problem: `The archive of --from isn't followed, because the data in ${settings.data} was restored to an earlier point.`,
      remedy: 'Omit --from. Set --node-config, so that the server fetches missing blocks from the node.',
    });
    return null;
  }
  const node = nodeActivity(clock, ingest.history);
  const following = archiveFollowing({
    location,
    ingest,
    receive,
    node,
    clock,
    log,
    async open() {
      const archive = await openSource({ from, settings, clock, log }, settings.data);
      // A removed archive without a head lists nothing, like an archive that has nothing new.
      if (archive.listsAtOnce !== true) await requireIdentity(archive);
      return archive;
    },
    claim: async () => (cluster === null ? noLease : cluster.claim('follow')),
  });
  return { ...following, around: node.around, fill: node.fill };
}
