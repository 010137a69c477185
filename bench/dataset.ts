/** The chains the benchmarks run on: simulated, the same for the same seed and size, and made once. */
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordingRow } from '../src/chain/recording.ts';
import { SimulatedChain } from '../src/devnet/chain.ts';
import type { NodeEvent } from '../src/devnet/node-event.ts';
import { devnetEvents } from '../src/devnet/scenario.ts';
import { MAIN, ROOT, run, say, script } from './harness.ts';

const DIRECTORY = join(tmpdir(), 'stackside-bench');
const MICROSECONDS_PER_MILLISECOND = 1000;
export const SEED = 1;
/** With {@link TRANSACTIONS_PER_BLOCK}, some 52,000 transactions on the winning chain. */
export const BLOCKS = 1300;
const TRANSACTIONS_PER_BLOCK = 40;

/** Changes with the code that makes the chains. */
function makersHash(): string {
  const directory = join(ROOT, 'src', 'devnet');
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  let hash = 0n;
  for (const file of files.sort()) hash = Bun.hash.xxHash64(readFileSync(join(directory, file)), hash);
  return hash.toString(16).slice(0, 8);
}

/** Writes the events of a chain as a recording, unless that is there already. */
async function recording(name: string, events: () => Iterable<NodeEvent>): Promise<string> {
  mkdirSync(DIRECTORY, { recursive: true });
  const path = join(DIRECTORY, `${name}-${makersHash()}.tsv`);
  if (existsSync(path)) return path;
  say(`making ${path}, once`);
  const output = createWriteStream(`${path}.part`);
  let id = 0;
  for (const { path: eventPath, body, time } of events()) {
    id += 1;
    const row = recordingRow({ id, path: eventPath, text: body, receivedAt: time * MICROSECONDS_PER_MILLISECOND });
    if (!output.write(`${row}\n`)) await once(output, 'drain');
  }
  output.end();
  await once(output, 'finish');
  renameSync(`${path}.part`, path);
  return path;
}

/** A chain with forks, tokens, contracts and a mempool. */
export const devnetRecording = (blocks = BLOCKS): Promise<string> =>
  recording(`devnet-${SEED}-${blocks}x${TRANSACTIONS_PER_BLOCK}`, () =>
    devnetEvents({ seed: SEED, blocks, transactionsPerBlock: TRANSACTIONS_PER_BLOCK }),
  );

const GENESIS_MINTS = 340_000;

/** A genesis block of mainnet's size, 80 MB with a mint for each of so many accounts, and block 1, which shows it. */
export const genesisRecording = (): Promise<string> =>
  recording(`genesis-${SEED}-${GENESIS_MINTS}`, function* () {
    const chain = new SimulatedChain({ seed: SEED, mempool: false });
    const genesis = chain.genesis();
    const body = JSON.parse(genesis.body) as { events: Record<string, unknown>[] };
    const mint = body.events.find(({ type }) => type === 'stx_mint_event');
    for (let index = body.events.length; index < GENESIS_MINTS; index++) {
      const recipient = `ST${index.toString(32).toUpperCase().padStart(39, '0')}`;
      body.events.push({
        ...mint,
        event_index: index,
        stx_mint_event: { amount: String(1_000_000 + index), recipient },
      });
    }
    yield { ...genesis, body: JSON.stringify(body) };
    yield* chain.mine(null).events;
  });

/** The index and journal of the chain, made by an import of now. */
export async function importInto(directory: string, file: string): Promise<void> {
  await run(script(MAIN, 'import', file, '--data', directory, '--log-level', 'error'));
}
