/**
 * Makes indexes with many logs of one contract, indexes their decoded values as a server does, and times pages of lists by
 * these values, in turn: a round asks every question of every index. Prints what was found.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import type { Block, ChainEvent } from '../../src/chain/block.ts';
import { effectsOf } from '../../src/chain/effects.ts';
import { stacksAddress } from '../../src/codec/address.ts';
import { clarity, encodeArguments } from '../../src/codec/clarity-encode.ts';
import { conditionOf } from '../../src/codec/value-condition.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { effectsWriter } from '../../src/store/effects/apply.ts';
import { dictionaries } from '../../src/store/effects/dictionary.ts';
import { openWriter } from '../../src/store/files/database.ts';
import { fileSizes } from '../../src/store/files/status.ts';
import { openIngest } from '../../src/store/ingest/ingest.ts';
import { startValueIndexing } from '../../src/store/ingest/value-indexes.ts';
import type { LoggingContracts, LogsFilter } from '../../src/store/model/contract.ts';
import type { Cursor, Page } from '../../src/store/model/page.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { spread } from '../results.ts';

const [place = '', roundCount, repetitionCount, limitText, ...sizes] = process.argv.slice(2);
const rounds = Number(roundCount);
const repetitions = Number(repetitionCount);
const limit = Number(limitText);

const LOGS_OF_A_BLOCK = 1_000;
/** Logs of each sender; one log in four is a swap. */
const LOGS_OF_A_SENDER = 50;
const ACTIONS = ['swap', 'mint', 'burn', 'vote'];

const addressOf = (number: number): string => {
  const hash160 = new Uint8Array(20);
  new DataView(hash160.buffer).setUint32(16, number);
  return stacksAddress(26, hash160);
};
const CONTRACT = `${addressOf(0xffff_ffff)}.pool`;

/** Deployers of several contracts, whose logs stand between those of the one. The last has too many contracts to merge. */
type Deployer = { address: string; contracts: number };
const DEPLOYERS: readonly Deployer[] = [20, 500, 2_000].map((contracts, n) => ({
  address: addressOf(0xffff_ff00 + n),
  contracts,
}));
/** Logs of each deployer in a block. */
const LOGS_OF_A_DEPLOYER = 100;
/** One of so many logs of deployers has another topic. */
const RARE = 1_000;
const contractsOf = ({ address, contracts }: Deployer): string[] =>
  Array.from({ length: contracts }, (_, n) => `${address}.pool-${n}`);

const hashOf = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest();
/** A number below another that looks drawn, and is the same for the same number. */
const scattered = (number: number, below: number): number => Bun.hash.crc32(String(number)) % below;

const printed = (number: number, logs: number): Uint8Array =>
  clarity.tuple({
    action: clarity.ascii(ACTIONS[number % ACTIONS.length]!),
    data: clarity.tuple({
      amount: clarity.uint(scattered(number, 2 ** 31)),
      memo: clarity.buffer(hashOf(String(number))),
    }),
    sender: clarity.principal(addressOf(scattered(number, logs / LOGS_OF_A_SENDER))),
  });

const NOTHING = { runtime: 0, readCount: 0, readLength: 0, writeCount: 0, writeLength: 0 };

/** A block with one call, in which the contract prints. */
function blockOf(height: number, logs: number): Block {
  const first = (height - 1) * LOGS_OF_A_BLOCK;
  const log = (contractId: string, topic: string, number: number): ChainEvent => {
    return { kind: 'contract_log', contractId, topic, value: printed(number, logs) };
  };
  const own = Array.from({ length: LOGS_OF_A_BLOCK }, (_, place) => log(CONTRACT, 'print', first + place));
  const others = DEPLOYERS.flatMap(({ address, contracts }) =>
    Array.from({ length: LOGS_OF_A_DEPLOYER }, (_, place) => {
      const number = height * LOGS_OF_A_DEPLOYER + place;
      return log(`${address}.pool-${scattered(number, contracts)}`, number % RARE === 0 ? 'rare' : 'print', number);
    }),
  );
  const events = [...own, ...others];
  const payload = {
    type: 'contract_call',
    typeId: 2,
    contractId: CONTRACT,
    functionName: 'run',
    functionArgs: encodeArguments([clarity.uint(height)]),
  } as const;
  const sender = { address: addressOf(height), nonce: 0n };
  return {
    height,
    blockHash: hashOf(`block ${height}`),
    indexBlockHash: hashOf(`index ${height}`),
    parentBlockHash: hashOf(`block ${height - 1}`),
    parentIndexBlockHash: hashOf(`index ${height - 1}`),
    blockTime: height * 10,
    burnBlockHash: hashOf(`burn ${height}`),
    burnBlockHeight: height,
    burnBlockTime: height * 10,
    parentBurnBlockTime: null,
    minerTxId: hashOf('miner'),
    parentMicroblockHash: new Uint8Array(32),
    parentMicroblockSequence: 0,
    tenureHeight: height,
    cost: NOTHING,
    signerBits: '1',
    signerSignatures: [],
    announcedTransactions: 1,
    transactions: [
      {
        txId: hashOf(`transaction ${height}`),
        raw: new Uint8Array(1),
        sender,
        sponsor: null,
        fee: 0n,
        chainId: 1,
        anchorMode: 3,
        postConditions: Uint8Array.of(1, 0, 0, 0, 0),
        payload,
        bitcoinOperation: true,
        txIndex: 0,
        status: 'success',
        result: clarity.ok(clarity.bool(true)),
        cost: NOTHING,
        vmError: null,
        contractInterface: null,
        microblock: null,
        events,
        genesis: null,
      },
    ],
    minerRewards: [],
    poxUnlockHeights: [null, null, null, null],
    rewardSet: null,
  };
}

function makeIndex(directory: string, logs: number): void {
  mkdirSync(directory, { recursive: true });
  using db = openWriter(directory, { load: 'bulk' });
  const effects = effectsWriter(db, dictionaries(db));
  db.transaction(() => {
    for (let height = 1; height <= logs / LOGS_OF_A_BLOCK; height++) {
      effects.apply(effectsOf(blockOf(height, logs)));
    }
    effects.store();
  }).immediate();
}

const bytesIn = (directory: string): number =>
  [...fileSizes(directory).values()].reduce((sum, bytes) => sum + bytes, 0);

/** What making the index of decoded values took. */
export interface Making {
  seconds: number;
  /** Processor time. */
  cpuSeconds: number;
  bytesBefore: number;
  bytesAfter: number;
}

/** Makes the index of all fields as a server does, in turns. */
async function indexValues(directory: string): Promise<Making> {
  const bytesBefore = bytesIn(directory);
  const choice = { subject: 'logs', contract: CONTRACT, scope: '' } as const;
  const ingest = openIngest({
    directory,
    chainId: null,
    machine: silentMachine,
    log: () => {},
    valueIndexes: [choice],
  });
  const [start, used] = [performance.now(), process.cpuUsage()];
  await new Promise<void>((resolve, reject) => {
    startValueIndexing({
      write: ingest.local,
      batch: ingest.valueIndexes.batch,
      clock: systemClock,
      log: (event) => (event.event === 'value_index_complete' ? resolve() : reject(new Error(event.event))),
    });
  });
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(used);
  ingest.close();
  return { seconds, cpuSeconds: (user + system) / 1e6, bytesBefore, bytesAfter: bytesIn(directory) };
}

/** A list, and the time of a page of it in each round, in microseconds. */
export interface TimedQuestion {
  name: string;
  /** Whether it asks for logs of several contracts. */
  isOfSeveral: boolean;
  microseconds: number[];
}
type Ask = (read: Reader, cursor: Cursor | null) => Promise<Page<unknown, number | null>>;
interface Question extends TimedQuestion {
  ask: Ask;
  cursor: Cursor | null;
}

const by =
  (...conditions: [path: string, ...texts: string[]][]): Ask =>
  (read, cursor) => {
    const fields = conditions.map(([path, ...texts]) => ({ path, named: path, conditions: texts.map(conditionOf) }));
    return read.contracts.searchLogs(
      CONTRACT,
      { topic: null, order: 'desc', heights: { from: null, to: null }, fields },
      limit,
      cursor,
    );
  };

/** Asks for logs of several contracts. */
const across =
  (of: LoggingContracts, given: Partial<LogsFilter> = {}): Ask =>
  (read, cursor) => {
    const none = { topic: null, sender: null, fields: [] };
    const filter = { of, ...none, order: 'desc', heights: { from: null, to: null }, ...given } as const;
    return read.contracts.walkLogs(filter, limit, cursor);
  };

/** Questions with the same number of answers in each index, and some of which there are more in a longer one. */
async function questionsOf(logs: number, snapshots: Snapshots): Promise<Question[]> {
  const sender = addressOf(scattered(logs >> 1, logs / LOGS_OF_A_SENDER));
  const highest = 2 ** 31 - Math.round((200 * 2 ** 31) / logs);
  const asks: [name: string, ask: Ask][] = [
    ['all logs', by()],
    ['`field.sender=SP…`, 50 logs', by(['sender', sender])],
    ['`field.action=swap`, a quarter of all logs', by(['action', 'swap'])],
    ['`field.data.amount=gte:…`, 200 logs', by(['data.amount', `gte:${highest}`])],
    ['`field.data.amount=gte:…`, half of all logs', by(['data.amount', `gte:${2 ** 30}`])],
    ['`field.sender=SP…&field.action=swap`', by(['sender', sender], ['action', 'swap'])],
  ];
  const question = { isOfSeveral: false, cursor: null };
  const questions: Question[] = asks.map(([name, ask]) => ({ ...question, name, ask, microseconds: [] }));
  const middle = { side: 'after', key: [logs * 2 ** 20 * (0.5 / LOGS_OF_A_BLOCK), 0] } as const;
  for (const [name, ask] of asks.slice(2, 4)) {
    questions.push({ ...question, name: `${name}, from the middle`, ask, cursor: middle, microseconds: [] });
  }
  const [twenty, many, tooMany] = DEPLOYERS as [Deployer, Deployer, Deployer];
  const contracts = contractsOf(twenty);
  const deployerOf = ({ contracts }: Deployer) => `deployer of ${contracts.toLocaleString('en-US')} contracts`;
  const several: [name: string, ask: Ask][] = [
    ['20 contracts', across({ contracts })],
    ['20 contracts, a topic of one log in 1,000', across({ contracts }, { topic: 'rare' })],
    ['20 contracts, a sender of one transaction', across({ contracts }, { sender: addressOf(1) })],
    [deployerOf(many), across({ deployer: many.address })],
    [`${deployerOf(many)}, a topic of one log in 1,000`, across({ deployer: many.address }, { topic: 'rare' })],
    [deployerOf(tooMany), across({ deployer: tooMany.address })],
  ];
  for (const [name, ask] of several) {
    questions.push({ ...question, isOfSeveral: true, name, ask, microseconds: [] });
  }
  for (const { ask, cursor, name } of questions) {
    const page = await snapshots.readLong(async (read) => ask(read, cursor));
    if (page.items.length === 0) throw new Error(`${name} has no page`);
  }
  return questions;
}

async function timeOf(snapshots: Snapshots, { ask, cursor }: Question): Promise<number> {
  return await snapshots.readLong(async (read) => {
    const times: number[] = [];
    for (let n = 0; n < repetitions; n++) {
      const start = performance.now();
      await ask(read, cursor);
      times.push((performance.now() - start) * 1000);
    }
    return spread(times).median;
  });
}

interface Measured {
  logs: number;
  making: Making;
  snapshots: Snapshots;
  questions: Question[];
}

const measured: Measured[] = [];
for (const logs of sizes.map(Number)) {
  const directory = join(place, String(logs));
  makeIndex(directory, logs);
  const making = await indexValues(directory);
  const snapshots = openSnapshots(directory);
  measured.push({ logs, making, snapshots, questions: await questionsOf(logs, snapshots) });
}
for (let round = 0; round < rounds; round++) {
  for (let number = 0; number < measured[0]!.questions.length; number++) {
    for (const { snapshots, questions } of measured) {
      const question = questions[number]!;
      question.microseconds.push(await timeOf(snapshots, question));
    }
  }
}
for (const { snapshots } of measured) snapshots.close();
process.stdout.write(
  JSON.stringify(
    measured.map(({ logs, making, questions }) => ({
      logs,
      making,
      questions: questions.map(({ name, isOfSeveral, microseconds }) => ({ name, isOfSeveral, microseconds })),
    })),
  ),
);
