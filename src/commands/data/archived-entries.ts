/**
 * Entries of an archive for what a journal lacks. A thread of its own reads and verifies them: a command waits for each answer,
 * since its work on SQLite can't be interrupted, and a server goes on, and does the work again once its entries were brought.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { type ErrorMessage, EXIT, errorOfMessage, PassingError } from '../../base/errors.ts';
import { awayIn, type BringEntries, EntryAwayError, type OlderEntries } from '../../store/files/older-entries.ts';
import type { Entry, Head, MostEntries } from '../../store/log/entry.ts';
import { archiveReadingThreadUrl } from '../../thread-urls.ts';

/** What the thread is started with. */
export interface ArchiveReadingStart {
  location: string;
  /** The data directory, in which the archive must not be. */
  directory: string;
  port: MessagePort;
  /** Counts the answers; who waits for one waits for a change of it. */
  answers: Int32Array;
}

export type ArchiveRequest =
  | { kind: 'entries'; id: number; lacked: Head; most: MostEntries }
  | { kind: 'sealed'; first: number; last: number };

export interface ArchiveAnswer {
  number: number;
  answer: { entries: Entry[] } | { sealed: Head | null } | Refusal | { failed: string };
}

/** Why an archive has no answer. */
interface Refusal extends ErrorMessage {
  /** Whether it has none as long as nobody mends it; else it may be away, or refuse for now. */
  lasts: boolean;
}

type Answer = ArchiveAnswer['answer'];

/** Milliseconds after which a thread that doesn't answer is given up: longer than all attempts to reach a place take. */
const LONGEST_WAIT_MS = 900_000;

const ended = (cause: unknown): PassingError =>
  new PassingError('The thread that reads the archive ended.', 'Try again.', { cause });

/** The answer to a request. @throws OperatorError where the thread has none */
function soundAnswer(answer: Answer): Exclude<Answer, Refusal | { failed: string }> {
  if ('problem' in answer) throw errorOfMessage(answer);
  if ('failed' in answer) throw ended(new Error(answer.failed));
  return answer;
}

/** A thread that reads an archive. One that ended is started anew by the next request. */
function archiveReadingThread(location: string, directory: string) {
  const answers = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (cause: unknown) => void }>();
  let running: { worker: Worker; port: MessagePort } | null = null;
  /** The port whose messages are listened for; a thread that waits receives them itself. */
  let listened: MessagePort | null = null;
  let number = 0;

  function start(): { worker: Worker; port: MessagePort } {
    const { port1: port, port2 } = new MessageChannel();
    const workerData: ArchiveReadingStart = { location, directory, port: port2, answers };
    const worker = new Worker(archiveReadingThreadUrl, { workerData, transferList: [port2] });
    const over = (cause: unknown): void => {
      if (running?.worker !== worker) return;
      running = null;
      for (const { reject } of waiting.values()) reject(ended(cause));
      waiting.clear();
    };
    worker.on('error', over).on('exit', over);
    // It ends with the process, whatever it does.
    worker.unref();
    port.unref();
    return { worker, port };
  }

  function ask(request: ArchiveRequest): MessagePort {
    running ??= start();
    number += 1;
    running.port.postMessage({ number, request });
    return running.port;
  }

  return {
    /** Waits for the answer to a request, and does nothing else meanwhile. @throws OperatorError */
    wait(request: ArchiveRequest): ReturnType<typeof soundAnswer> {
      const port = ask(request);
      for (;;) {
        const before = Atomics.load(answers, 0);
        const message = receiveMessageOnPort(port)?.message as ArchiveAnswer | undefined;
        if (message?.number === number) return soundAnswer(message.answer);
        if (message !== undefined) continue;
        if (Atomics.wait(answers, 0, before, LONGEST_WAIT_MS) === 'timed-out') throw ended(new Error('no answer'));
      }
    },

    /**
     * The answer to a request. A thread is used by this or by `wait`.
     * @throws OperatorError; PassingError where the archive can't be read now, for whatever reason: a server goes on and waits for it
     */
    async answer(request: ArchiveRequest): Promise<ReturnType<typeof soundAnswer>> {
      const port = ask(request);
      if (port !== listened) {
        listened = port.on('message', ({ number: of, answer }: ArchiveAnswer) => {
          waiting.get(of)?.resolve(answer);
          waiting.delete(of);
        });
      }
      const answer = await new Promise<Answer>((resolve, reject) => waiting.set(number, { resolve, reject }));
      const isPassing = 'problem' in answer && !answer.lasts;
      return soundAnswer(isPassing ? { ...answer, exitCode: EXIT.again } : answer);
    },

    async stop(): Promise<void> {
      const { worker, port } = running ?? {};
      running = null;
      port?.close();
      await worker?.terminate();
    },
  };
}

/** How many entries are asked for at once, and how many such runs stay in memory: some 16 MB. */
interface Memory {
  most: MostEntries;
  runs: number;
}

/** A command waits, the less often the better. */
const OF_COMMAND: Memory = { most: { entries: 4_000, bytes: 4_000_000 }, runs: 4 };
/** To take a run from the other thread holds a server up for some milliseconds. */
const OF_SERVER: Memory = { most: { entries: 500, bytes: 500_000 }, runs: 32 };

/** The newest runs of consecutive entries that were read. */
function retainedEntries({ runs: most }: Memory) {
  let runs: Entry[][] = [];
  return {
    add: (entries: Entry[]): void => {
      runs = [entries, ...runs].slice(0, most);
    },
    get(id: number): Entry | undefined {
      const found = runs.find((entries) => entries[0]!.id <= id && id <= entries.at(-1)!.id);
      if (found === undefined) return undefined;
      if (found !== runs[0]) runs = [found, ...runs.filter((one) => one !== found)];
      return found[id - found[0]!.id];
    },
  };
}

const entriesIn = (answer: ReturnType<typeof soundAnswer>): Entry[] => ('entries' in answer ? answer.entries : []);

/** The archive of a command's setting. */
export interface NamedArchive {
  archive: string | null;
  data: string;
}

/** Entries of an archive for a command, which waits for them. */
export interface AwaitedEntries extends OlderEntries, AsyncDisposable {
  location: string;
}

/** The entries of the archive that a command was given; null where none was. */
export function awaitedEntries({ archive: location, data }: NamedArchive): AwaitedEntries | null {
  if (location === null) return null;
  const thread = archiveReadingThread(location, data);
  const retained = retainedEntries(OF_COMMAND);
  const { most } = OF_COMMAND;
  return {
    location,
    read(id, lacked) {
      const known = retained.get(id);
      if (known !== undefined) return known;
      retained.add(entriesIn(thread.wait({ kind: 'entries', id, lacked, most })));
      return retained.get(id)!;
    },
    [Symbol.asyncDispose]: thread.stop,
  };
}

/** Does work with the entries of the archive that a command was given. @param work gets null where none was */
export async function withArchive<T>(
  settings: NamedArchive,
  work: (older: AwaitedEntries | null) => T | Promise<T>,
): Promise<T> {
  await using older = awaitedEntries(settings);
  return await work(older);
}

/** Entries of an archive for a server, which goes on while they are read. */
export interface BroughtEntries extends OlderEntries {
  location: string;
  /** Entries that were brought stay in memory until the work is done. */
  bring: BringEntries;
  /**
   * The end of the sealed segment that has an entry, with all before it.
   * @param first the first entry that the journal has
   * @returns null where no sealed segment has the entry yet
   * @throws OperatorError
   */
  sealedUpTo(first: number, last: number): Promise<Head | null>;
  stop(): Promise<void>;
}

/** The entries of a server's archive; null where it has none. */
export function broughtEntries({ archive: location, data }: NamedArchive): BroughtEntries | null {
  if (location === null) return null;
  const thread = archiveReadingThread(location, data);
  const retained = retainedEntries(OF_SERVER);
  const { most } = OF_SERVER;
  /** Entries that work under way needs. */
  const held = new Set<Map<number, Entry>>();

  function known(id: number): Entry | undefined {
    const found = retained.get(id);
    if (found !== undefined) return found;
    for (const entries of held) if (entries.has(id)) return entries.get(id);
    return undefined;
  }

  async function bring({ id, lacked }: EntryAwayError): Promise<Entry> {
    const entries = entriesIn(await thread.answer({ kind: 'entries', id, lacked, most }));
    retained.add(entries);
    return entries[0]!;
  }

  return {
    location,
    read(id, lacked) {
      const entry = known(id);
      if (entry === undefined) throw new EntryAwayError(id, lacked);
      return entry;
    },
    async bring(work) {
      const own = new Map<number, Entry>();
      held.add(own);
      try {
        for (;;) {
          try {
            return await work();
          } catch (error) {
            const away = awayIn(error);
            // One that was brought is away for a reader of other entries.
            if (away === null || own.has(away.id)) throw error;
            own.set(away.id, await bring(away));
          }
        }
      } finally {
        held.delete(own);
      }
    },
    async sealedUpTo(first, last) {
      const answer = await thread.answer({ kind: 'sealed', first, last });
      return 'sealed' in answer ? answer.sealed : null;
    },
    stop: thread.stop,
  };
}
