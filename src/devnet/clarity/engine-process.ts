/**
 * The process of the Clarity engine. It loads the project's @stacks/clarinet-sdk and follows the server's messages. Its
 * source is written to a file and run from there, so it must import only types from this program.
 *
 * The first argument is the directory to load the engine from. Its output is ignored: messages use the channel of the
 * parent process.
 */
import { dirname, join } from 'node:path';
import { atMost } from '../../base/turns.ts';
import { MAX_MINT } from '../limits.ts';
import type {
  BlocksResult,
  EngineAnswer,
  EngineBlock,
  EngineOutcome,
  EnginePosition,
  EngineRead,
  EngineReady,
  EngineRequest,
  EngineSession,
  FromEngine,
} from './engine.ts';
import type { TraceReport } from './failure.ts';

/** The parts of the engine's interface that are used (@stacks/clarinet-sdk-wasm 3). */
interface Session {
  initSession(directory: string, manifest: string, apiUrl: undefined): Promise<void>;
  setEpoch(epoch: string): void;
  mintSTX(recipient: string, amount: bigint): string;
  mintFT(token: string, recipient: string, amount: bigint): string;
  mineBlock(transactions: object[]): { result: string; events: string; costs: string; performance?: string }[];
  enablePerformance(costField: string): void;
  getLastContractCallTrace(): string | undefined;
  mineEmptyBurnBlock(): number;
  callReadOnlyFn(call: object): { result: string };
  getDataVar(contract: string, name: string): string;
  getMapEntry(contract: string, map: string, key: Uint8Array): string;
  getContractSource(contract: string): string | undefined;
  getContractsInterfaces(): Map<string, object>;
  getBlockTime(): bigint;
  free(): void;
  readonly stacksBlockHeight: number;
  readonly burnBlockHeight: number;
}
type Files = Readonly<Record<string, string>>;
interface Engine {
  SDK: new (
    readFile: (action: string, request: { path: string; paths: string[] }) => Promise<unknown>,
    options: object,
  ) => Session;
  SDKOptions: new (trackCosts: boolean, trackCoverage: boolean, trackPerformance: boolean) => object;
  CallFnArgs: new (contract: string, functionName: string, args: Uint8Array[], sender: string) => object;
}

/** Recipient of the fees. The chain pays them to its miners later. */
const FEES = 'ST000000000000000000002AMW42H';

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const bytesOf = (hex: string): Uint8Array => Uint8Array.fromHex(hex.slice(2));
const send = (message: EngineReady | FromEngine): void => {
  process.send?.(message);
};

/** The engine returns maps and bigints, which JSON doesn't support. */
const json = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    typeof part === 'bigint' ? String(part) : part instanceof Map ? Object.fromEntries(part) : part,
  );

function position(session: Session): EnginePosition {
  const { stacksBlockHeight: height, burnBlockHeight: burnHeight } = session;
  return { height, burnHeight, time: Number(session.getBlockTime()) };
}

function transactionsOf({ fee, action }: Extract<EngineBlock, { kind: 'block' }>): object[] {
  const fees =
    fee === null || fee.amount === '0'
      ? []
      : [{ transferSTX: { amount: Number(fee.amount), recipient: FEES, sender: fee.payer } }];
  switch (action?.kind) {
    case undefined:
      return fees;
    case 'transfer': {
      const { sender, recipient, amount } = action;
      return [...fees, { transferSTX: { amount: Number(amount), recipient, sender } }];
    }
    case 'deploy': {
      const { sender, name, source: content, clarityVersion } = action;
      const options = clarityVersion === null ? {} : { clarity_version: clarityVersion, clarityVersion };
      return [...fees, { deployContract: { name, content, options, sender } }];
    }
    case 'call': {
      const { sender, contract, functionName: method, args } = action;
      return [...fees, { callPublicFn: { contract, method, args_maps: args.map(bytesOf), sender } }];
    }
  }
}

function mineBlock(session: Session, block: EngineBlock): BlocksResult {
  const answer = (outcome: EngineOutcome | null): BlocksResult => ({ outcome, ...position(session) });
  const failure = (error: unknown): BlocksResult => answer({ kind: 'failed', error: textOf(error) });
  for (const { address, amount } of block.credits) session.mintSTX(address, BigInt(amount));
  if (block.kind === 'tenure') {
    session.mineEmptyBurnBlock();
    return answer(null);
  }
  const { action } = block;
  try {
    if (action?.kind === 'transfer' && action.mint !== null) {
      const { asset, recipient, amount } = action.mint;
      for (let rest = BigInt(amount); rest > 0n; rest -= MAX_MINT)
        session.mintFT(asset.replace('::', '.'), recipient, rest < MAX_MINT ? rest : MAX_MINT);
    }
  } catch (error) {
    session.mineBlock(transactionsOf({ ...block, action: null }));
    return failure(error);
  }
  try {
    const last = session.mineBlock(transactionsOf(block)).at(-1);
    if (action === null || last === undefined) return answer(null);
    const { result, events, costs } = last;
    return answer({ kind: 'returned', result, events: JSON.parse(events), costs });
  } catch (error) {
    return failure(error);
  }
}

function readFrom(engine: Engine, session: Session, read: EngineRead): string | null {
  switch (read.kind) {
    case 'call': {
      const args = read.args.map(bytesOf);
      return session.callReadOnlyFn(new engine.CallFnArgs(read.contract, read.functionName, args, read.sender)).result;
    }
    case 'variable':
      return session.getDataVar(read.contract, read.name);
    case 'entry':
      return session.getMapEntry(read.contract, read.map, bytesOf(read.key));
    case 'source':
      return session.getContractSource(read.contract) ?? null;
    case 'interfaces': {
      const interfaces = session.getContractsInterfaces();
      return json(read.contracts.map((contract) => interfaces.get(contract) ?? null));
    }
  }
}

/** Maximum number of reported lines of a trace: the last lines, because the failure is at the end. */
const TRACE_LINES = 200;

function traceBlock(session: Session, { block, withCosts }: EngineRequest<'trace'>): TraceReport {
  if (withCosts) session.enablePerformance('runtime');
  let evaluated = '';
  const printed: string[] = [];
  const { error: print } = console;
  // The engine prints the place of a runtime error, and reports it nowhere else.
  console.error = (text: unknown) => void printed.push(String(text));
  try {
    if (block.kind === 'block') {
      for (const { address, amount } of block.credits) session.mintSTX(address, BigInt(amount));
      evaluated = session.mineBlock(transactionsOf(block)).at(-1)?.performance ?? '';
    }
  } catch {
    // The error is in the printed text.
  } finally {
    console.error = print;
  }
  const lines = (session.getLastContractCallTrace() ?? '').trimEnd().split('\n');
  return { trace: lines.slice(-TRACE_LINES).join('\n'), evaluated, printed: printed.join('\n') };
}

const { Date: SystemDate } = globalThis;

/** Stops the engine's clock, so that a chain that is built again has the same times. @param time Unix seconds */
function stopClock(time: number): void {
  globalThis.Date = class extends SystemDate {
    constructor(...args: unknown[]) {
      super(...((args.length === 0 ? [time * 1_000] : args) as [number]));
    }
  } as DateConstructor;
}

/** Lets the engine read files that exist only in memory. */
const readerOf =
  (files: Files) =>
  async (action: string, { path, paths }: { path: string; paths: string[] }): Promise<unknown> => {
    switch (action) {
      case 'vfs/exists':
        return Object.hasOwn(files, path);
      case 'vfs/readFiles':
        return Object.fromEntries(paths.map((file) => [file, files[file]]));
      case 'vfs/writeFile':
        return null;
      default:
        if (Object.hasOwn(files, path)) return files[path];
        throw new Error(`there is no file ${path}`);
    }
  };

/** Loads a project in a separate session, with the files of the message. */
async function checkProject(engine: Engine, { files, manifest }: EngineRequest<'check'>): Promise<string | null> {
  const session = new engine.SDK(readerOf(files), new engine.SDKOptions(false, false, false));
  try {
    await session.initSession(dirname(manifest), manifest, undefined);
    return null;
  } catch (error) {
    return textOf(error);
  } finally {
    // A session takes 100 MB, which the garbage collector would free much later.
    session.free();
  }
}

/** Files of the projects that chains start with. */
const startFiles: Record<string, string> = {};

/**
 * Returns the files of a project without contracts. The engine keeps the state of each project that it has loaded, by
 * the project's path. The next start of the same session uses this state, and takes a sixth of the time. The state
 * contains the chain's time, so the path does, too.
 */
const projectAt = (directory: string): Files => ({
  [`${directory}/Clarinet.toml`]: '[project]\nname = "chain"\n',
  [`${directory}/settings/Devnet.toml`]: `[network]
name = "devnet"
[accounts.deployer]
mnemonic = "${'abandon '.repeat(11)}about"
balance = 0
`,
});

async function answerTo(engine: Engine, session: Session, message: EngineRequest): Promise<EngineAnswer> {
  switch (message.kind) {
    case 'begin': {
      stopClock(message.time);
      const directory = `/${message.time}`;
      Object.assign(startFiles, projectAt(directory));
      await session.initSession(directory, `${directory}/Clarinet.toml`, undefined);
      session.setEpoch(message.epoch);
      for (const { address, amount } of message.credits) session.mintSTX(address, BigInt(amount));
      return position(session);
    }
    case 'blocks': {
      let last: BlocksResult = { outcome: null, ...position(session) };
      for (const block of message.blocks) last = mineBlock(session, block);
      return last;
    }
    case 'check':
      return checkProject(engine, message);
    case 'trace':
      return traceBlock(session, message);
    case 'read':
      return readFrom(engine, session, message.read);
  }
}

async function loadEngine(directory: string): Promise<{ engine: Engine; version: string }> {
  const sdk = Bun.resolveSync('@stacks/clarinet-sdk', directory);
  const wasm = Bun.resolveSync('@stacks/clarinet-sdk-wasm', sdk);
  const { version } = await Bun.file(join(dirname(wasm), 'package.json')).json();
  return { engine: await import(wasm), version };
}

// Ctrl-C in a terminal reaches this process, too. The parent process ends it.
process.on('SIGINT', () => {});
try {
  const { engine, version } = await loadEngine(process.argv[2] ?? '');
  const session = (countsCosts: boolean, tracks = false) =>
    new engine.SDK(readerOf(startFiles), new engine.SDKOptions(countsCosts, false, tracks));
  const sessions: Record<EngineSession, Session> = {
    main: session(true),
    aside: session(false),
    traced: session(true, true),
  };
  const inTurn = atMost(1);
  process.on('message', (message: { id: number } & EngineRequest) => {
    const { id, session } = message;
    void inTurn(() =>
      answerTo(engine, sessions[session], message).then(
        (answer) => send({ id, answer }),
        (error: unknown) => send({ id, refusal: textOf(error) }),
      ),
    );
  });
  // The parent process has ended.
  process.on('disconnect', () => process.exit(0));
  send({ kind: 'ready', version });
} catch (error) {
  send({ kind: 'unfit', problem: textOf(error) });
}
