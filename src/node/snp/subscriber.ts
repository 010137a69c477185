/**
 * Receives the node's events from stacks-node-publisher. Messages are accepted like events of the event port, and
 * acknowledged when the event is on the disk; the position in the stream is stored with the event. A message that can't be
 * accepted blocks later messages, which stay in Redis.
 */

import { type Clock, pause, type RandomSource } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { ServiceEvent } from '../../base/log-events.ts';
import { type Backoff, backoff, type Loop, startLoop } from '../../base/service.ts';
import { mayBeEventPath, SKIPPED_PATH, type SkippedMessage } from '../../chain/payload-reader.ts';
import { toHex } from '../../codec/hex.ts';
import type { ReceivedEvent } from '../../store/ingest/ingest.ts';
import { UnknownParentError } from '../../store/ingest/known-blocks.ts';
import { type Intake, isUnavailable, reasonOf } from '../event-intake.ts';
import {
  BLOCK_MS,
  type ClientCommands,
  clientCommands,
  MAX_AT_ONCE,
  type Message,
  receivedAtOf,
  repairNumbers,
  SILENCE_MS,
} from './protocol.ts';
import { connectRedis, type Redis, RedisError } from './redis.ts';

/** Why a stream is requested: `silence` for two minutes, `no_group` if the broker dropped the stream. */
export type HandshakeReason = 'start' | 'no_group' | 'silence' | 'gap' | 'unknown_parent';

export type SnpEvent =
  | ServiceEvent
  | { event: 'snp_handshake'; reason: HandshakeReason; client: string; message_id: string | null; height: number }
  | { event: 'snp_gap'; after: string; next: string }
  /** A message is skipped because the operator requested it, or because no node posts to its path. */
  | { event: 'snp_message_skipped'; message_id: string; path: string; remedy: string }
  /** The publisher rounded numbers: these fields may be wrong, in this message and in others. */
  | { event: 'snp_rounded'; message_id: string; fields: string };

export interface SnpOptions {
  /** URL of Redis, which may have user and password. */
  url: string;
  /** Prefix of keys: empty, or ends with `:`. */
  prefix: string;
  skip: readonly number[];
  intake: Intake;
  /** Position up to which a source was read, from `Ingest.imported`. */
  positionOf: (source: string) => { rows: number; digest: string };
  tip: () => { height: number; indexBlockHash: Uint8Array };
  /**
   * Resolves when a stream may be requested, or the signal is aborted. A new host of a cluster waits here: its stream would
   * have the whole chain, and so add entries a second time that the log has already.
   */
  begin: (signal: AbortSignal) => Promise<void>;
  log: (event: SnpEvent) => void;
  clock: Clock;
  random: RandomSource;
  /** Milliseconds for which a read waits for a message; for tests. */
  blockMs?: number;
}

type Entries = ReturnType<ClientCommands['parseMessages']>;

/** A stream that the broker made for this process. */
interface Session {
  commands: ClientCommands;
  /** The last message that was accepted or skipped; null if unknown. */
  last: Pick<Message, 'id' | 'sequence'> | null;
  /** Whether all unacknowledged messages were read again. */
  isDrained: boolean;
  /** Time of the last message, on the monotonic clock. */
  lastMessageAt: number;
}

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 16_000;
/** Minimum time between two streams requested after a gap, and between two log lines about gaps. */
const GAP_EVERY_MS = 60_000;
/** Bytes of a read above which the next read gets fewer messages, so that a backlog stays in Redis. */
const MAX_BYTES = 8_000_000;

const PARENT_REMEDY =
  'The publisher has lost events, or began after the first block, or the block before was skipped (--snp-skip). Either import a recording that has the missing blocks into a new --data directory, or let the publisher take the chain from an empty chainstate.';
const eventRemedy = (sequence: number): string =>
  `Look for a newer version of Stackside, which may understand the event. The log has the cause. To continue without the event, start the server with --snp-skip ${sequence}; the data then lacks its changes.`;

/** Returns the remedy for a skipped message, which explains what is missing without it. */
const skipRemedy = (path: string): string =>
  path === '/new_block'
    ? 'All later blocks wait for this block: import a recording that contains the block into a new --data directory.'
    : 'The data lacks the changes of this event; stackside check names them.';

/** Returns the name under which the position is stored. Another Redis, database or prefix has other numbers. */
function sourceOf(url: string, prefix: string): string {
  const { host, pathname } = new URL(url);
  return `snp ${host}${pathname === '/' ? '' : pathname} ${prefix}`;
}

/** Reads the stream until it is stopped. */
export class SnpSubscriber {
  readonly #options: SnpOptions;
  readonly #source: string;
  readonly #waits: Backoff;
  readonly #loop: Loop;
  /** Paths and ids of skipped messages, and lists of rounded fields, that were logged. */
  readonly #logged = new Set<string>();
  readonly #handshakes = new Map<HandshakeReason, number>();
  /** Resolves when a stream may be requested. */
  #ready: Promise<void> | null = null;
  /** The present connection; null before the first and after a failure. */
  #redis: Redis | null = null;
  #session: Session | null = null;
  /** Why the next stream is requested. */
  #reason: HandshakeReason = 'start';
  /** Streams requested since a message was accepted. */
  #requests = 0;
  /** Times of the last request because of a gap, and of the last log line about a gap, on the monotonic clock. */
  readonly #gap = { requestedAt: Number.NEGATIVE_INFINITY, loggedAt: Number.NEGATIVE_INFINITY };
  /** Failed attempts since the start. */
  #failures = 0;
  /** Id of the message that made the subscriber request the stream again, because its parent block is missing. */
  #orphan: string | null = null;
  /** Number of messages of the next read. */
  #count = 1;
  /** Ends a read that waits for a message. */
  #endRead: (() => void) | null = null;
  /** Number of the last message that this or an earlier process accepted. */
  #sequence: number;

  constructor(options: SnpOptions) {
    this.#options = options;
    this.#source = sourceOf(options.url, options.prefix);
    this.#sequence = options.positionOf(this.#source).rows;
    const { clock, log, random } = options;
    this.#waits = { firstMs: FIRST_WAIT_MS, maxMs: MAX_WAIT_MS, random: random.number };
    this.#loop = startLoop({
      clock,
      everyMs: 0,
      waits: this.#waits,
      turn: (signal) => this.#follow(signal),
      passes: (error) => error instanceof RedisError || error instanceof OperatorError,
      failed: ({ message: reason, remedy }) => log({ event: 'service_failing', service: 'snp', reason, remedy }),
      recovered: (failures) => log({ event: 'service_resumed', service: 'snp', failures }),
    });
  }

  /** Returns the reason why no events come; null if events come. */
  failing(): string | null {
    return this.#loop.failure();
  }

  /** Counters since the start, and the number of the last message. */
  counted() {
    const handshakes: ReadonlyMap<HandshakeReason, number> = this.#handshakes;
    return { handshakes, failures: this.#failures, sequence: this.#sequence };
  }

  /** Finishes the message that is being accepted, and stops. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#endRead?.();
    await stopped;
    this.#redis?.close();
  }

  /**
   * Reads the next messages and accepts them.
   * @returns milliseconds until the next read
   * @throws RedisError; OperatorError for a message that can't be accepted
   */
  async #follow(signal: AbortSignal): Promise<number> {
    this.#ready ??= this.#options.begin(signal);
    await this.#ready;
    if (signal.aborted) return 0;
    try {
      this.#redis ??= await this.#connect(signal);
      this.#session ??= await this.#shakeHands(this.#redis, signal);
      return await this.#readOnce(this.#redis, this.#session, signal);
    } catch (error) {
      if (!signal.aborted) this.#failures += 1;
      this.#redis?.close();
      this.#redis = null;
      throw error;
    }
  }

  async #connect(signal: AbortSignal): Promise<Redis> {
    const redis = await connectRedis(this.#options.url, this.#options.clock, signal);
    // Messages that the last connection read but didn't acknowledge come again.
    if (this.#session !== null) this.#session.isDrained = false;
    return redis;
  }

  /** Requests a stream from the broker. */
  async #shakeHands(redis: Redis, signal: AbortSignal): Promise<Session> {
    const { prefix, random, clock, tip, positionOf, log } = this.#options;
    const reason = this.#reason;
    if (this.#requests > 1) await pause(clock, backoff(this.#requests - 1, this.#waits), signal);
    const { rows: sequence, digest: id } = positionOf(this.#source);
    // After a message without a parent, the last block is a better position than the message before.
    const last = id === '' || reason === 'unknown_parent' ? null : { id, sequence };
    const client = random.uuid();
    const commands = clientCommands(prefix, client);
    const { height, indexBlockHash } = tip();
    const block = height === 0 ? null : { hash: toHex(indexBlockHash), height };
    await redis.runTogether(commands.handshake({ messageId: last?.id ?? null, tip: block }));
    this.#requests += 1;
    this.#handshakes.set(reason, (this.#handshakes.get(reason) ?? 0) + 1);
    log({ event: 'snp_handshake', reason, client, message_id: last?.id ?? null, height });
    return { commands, last, isDrained: false, lastMessageAt: clock.monotonic() };
  }

  /** Leaves the stream; the next read requests another. */
  #leave(reason: HandshakeReason): void {
    this.#session = null;
    this.#reason = reason;
  }

  /** @returns milliseconds until the next read */
  async #readOnce(redis: Redis, session: Session, signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    const entries = await this.#read(redis, session);
    if (entries === null) this.#leave('no_group');
    else if (entries.length > 0) return this.#acceptAll(redis, session, entries, signal);
    else if (!session.isDrained) session.isDrained = true;
    else if (clock.monotonic() - session.lastMessageAt >= SILENCE_MS) this.#leave('silence');
    return 0;
  }

  /** Accepts messages in their order. @returns milliseconds until the next read */
  async #acceptAll(redis: Redis, session: Session, entries: Entries, signal: AbortSignal): Promise<number> {
    for (const { id, message } of entries) {
      // A message that comes again, because its acknowledgement was lost, is the last one and changes nothing.
      const outcome = message === null ? 'accepted' : await this.#accept(session, message);
      if (outcome === 'left') return 0;
      if (outcome === 'unavailable') {
        session.isDrained = false;
        return FIRST_WAIT_MS;
      }
      await redis.runTogether(session.commands.acknowledge(id));
      session.lastMessageAt = this.#options.clock.monotonic();
      if (signal.aborted) return 0;
    }
    return 0;
  }

  /** The next messages; null if the broker has dropped the stream. */
  async #read(redis: Redis, { commands, isDrained }: Session): Promise<Entries | null> {
    const { blockMs = BLOCK_MS } = this.#options;
    const read = isDrained ? commands.readNew(this.#count, blockMs) : commands.readAgain(this.#count);
    try {
      this.#endRead = redis.close;
      const entries = commands.parseMessages(await redis.run(read, blockMs));
      this.#count = nextCount(this.#count, entries);
      return entries;
    } catch (error) {
      if (error instanceof RedisError && error.code === 'NOGROUP') return null;
      throw error;
    } finally {
      this.#endRead = null;
    }
  }

  /**
   * Accepts a message.
   * @returns the outcome: `accepted`; `left` if the stream was left; `unavailable` if the store or the log is, which its
   *   writer reports
   * @throws OperatorError if the message can't be accepted
   */
  async #accept(session: Session, message: Message): Promise<'accepted' | 'left' | 'unavailable'> {
    const { intake, skip } = this.#options;
    if (!this.#checkOrder(session, message)) return 'left';
    const { id, path, sequence } = message;
    if (!mayBeEventPath(path)) {
      const remedy = 'No node posts to this path. There is nothing to do.';
      this.#logOnce(path, { event: 'snp_message_skipped', message_id: id, path, remedy });
      return this.#advance(session, message);
    }
    const isSkipped = skip.includes(sequence);
    if (isSkipped && this.#logged.has(id)) return this.#advance(session, message);
    const { error } = await intake(isSkipped ? this.#toSkippedEvent(message) : this.#toEvent(message));
    if (error === null) {
      if (isSkipped) {
        this.#logOnce(id, { event: 'snp_message_skipped', message_id: id, path, remedy: skipRemedy(path) });
      }
      return this.#advance(session, message);
    }
    if (isUnavailable(error)) return 'unavailable';
    const isOrphan = error instanceof UnknownParentError;
    if (isOrphan && this.#orphan !== id) {
      this.#orphan = id;
      this.#leave('unknown_parent');
      return 'left';
    }
    const problem = `Message ${id} (${path}) can't be applied: ${reasonOf(error)}`;
    throw new OperatorError(problem, isOrphan ? PARENT_REMEDY : eventRemedy(sequence), { cause: error });
  }

  /**
   * Checks that a message is the next one. After a gap, Stackside requests the stream again. If the gap remains, the
   * publisher skipped numbers or lost messages. The next block shows a loss.
   * @returns false if the stream was left
   */
  #checkOrder({ last }: Session, { id, sequence }: Message): boolean {
    const { clock, log } = this.#options;
    if (last === null || sequence <= last.sequence + 1) return true;
    const now = clock.monotonic();
    if (now - this.#gap.requestedAt >= GAP_EVERY_MS) {
      this.#gap.requestedAt = now;
      this.#leave('gap');
      return false;
    }
    if (now - this.#gap.loggedAt >= GAP_EVERY_MS) {
      this.#gap.loggedAt = now;
      log({ event: 'snp_gap', after: last.id, next: id });
    }
    return true;
  }

  #toReceived(message: Message, path: string, text: string): ReceivedEvent {
    const { id, sequence } = message;
    const receivedAt = receivedAtOf(message, this.#options.clock.now());
    return { path, text, receivedAt, read: { source: this.#source, upTo: { rows: sequence, digest: id } } };
  }

  #toEvent(message: Message): ReceivedEvent {
    const { text, rounded } = repairNumbers(message.body);
    const fields = [...rounded].join(', ');
    if (fields !== '') this.#logOnce(fields, { event: 'snp_rounded', message_id: message.id, fields });
    return this.#toReceived(message, message.path, text);
  }

  #toSkippedEvent(message: Message): ReceivedEvent {
    const { id, path } = message;
    return this.#toReceived(message, SKIPPED_PATH, JSON.stringify({ id, path } satisfies SkippedMessage));
  }

  #logOnce(subject: string, event: SnpEvent): void {
    if (!this.#logged.has(subject)) this.#options.log(event);
    this.#logged.add(subject);
  }

  #advance(session: Session, { id, sequence }: Message): 'accepted' {
    session.last = { id, sequence };
    this.#sequence = sequence;
    this.#requests = 0;
    return 'accepted';
  }
}

/** Returns the number of messages of the next read: a few megabytes, if the next messages are as large as these. */
function nextCount(count: number, entries: Entries): number {
  if (entries.length === 0) return count;
  const bytes = entries.reduce((sum, { message }) => sum + (message?.body.length ?? 0), 0);
  if (bytes > MAX_BYTES) return Math.max(1, Math.floor((count * MAX_BYTES) / bytes));
  return bytes * 2 > MAX_BYTES ? count : Math.min(MAX_AT_ONCE, count * 2);
}
