/**
 * `stackside/test`: a simulated chain for tests of apps. The npm package contains this file, bundled for Node and Bun.
 */
import { createRequire } from 'node:module';
import { directFetch } from '../http/direct-fetch.ts';
import { type ChainProcess, startProcess } from './chain-process.ts';
import { DevnetError, within } from './errors.ts';
import { Inbox } from './inbox.ts';
import type {
  Account,
  Amount,
  Block,
  ContractTypes,
  Deployed,
  Devnet,
  DevnetOptions,
  Fork,
  Hook,
  HookDefinition,
  HookOptions,
  Hooks,
  Owner,
  Reverted,
  Sender,
  Sent,
  ValueOf,
} from './types.ts';
import { decodedValue, type Value } from './values.ts';

export { DevnetError, type DevnetProblem, type Refusal } from './errors.ts';
export { assertErr, assertOk, type ClarityMatchers, matchers } from './matchers.ts';
export type * from './types.ts';
export * from './values.ts';

const OK = 200;
const NOT_FOUND = 404;
/** Enough for a busy CI machine. */
const LIMIT_MS = 180_000;
/** Micro-STX of a new account. */
const INITIAL_BALANCE = 1_000_000_000n;
const SNAPSHOT = 'default';
/** Maximum milliseconds between a broken connection and the end of the process. */
const END_LIMIT_MS = 60_000;

/** Returns the executable for this platform, which npm installed with this package. @throws DevnetError */
function packagedExecutable(): string {
  try {
    return createRequire(import.meta.url)('../bin/executable.cjs').executable() as string;
  } catch (cause) {
    const { message, remedy = 'Install the package stackside again.' } = cause as Error & { remedy?: string };
    throw new DevnetError('executable_missing', `${message} ${remedy}`, { cause });
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Returns the error for an answer that rejects a request, with the message and the field that the answer names. */
function refusedError(path: string, status: number, text: string): DevnetError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // The answer isn't JSON, so it has no details.
    body = null;
  }
  const { message, details, reason, field } = Object(body) as Record<string, unknown>;
  const problem = textOrNull(message)?.replace(/^(?:body|params)\//, '') ?? textOrNull(details) ?? text;
  return new DevnetError('refused', `The chain refused ${path}: ${problem}`, {
    status,
    reason: textOrNull(reason),
    field: textOrNull(field),
  });
}

/**
 * Serializes the body of a request.
 * @throws DevnetError for a bigint
 */
function serializeBody(body: object | undefined): string | null {
  /** Fields of objects, with a dot at the end. */
  const prefixes = new Map<unknown, string>();
  const text = JSON.stringify(body, function replace(this: unknown, key: string, value: unknown) {
    const field = `${prefixes.get(this) ?? ''}${key}`;
    if (typeof value === 'object' && key !== '') prefixes.set(value, `${field}.`);
    if (typeof value !== 'bigint') return value;
    // Amounts of filters are text, because JSON rounds large numbers.
    const inBody = field.startsWith('filters.') ? `'${value}'` : String(value);
    const remedy = field.startsWith('arguments.') ? `cl.uint(${value}n) or cl.int(${value}n)` : inBody;
    throw new DevnetError('refused', `${field} is a bigint, which JSON doesn't have. Write ${remedy}.`, { field });
  });
  return text ?? null;
}

type Ask = <T>(path: string, body?: object) => Promise<T>;

function requester({ url, ended }: ChainProcess, limitMs: number): Ask {
  async function sendRequest(path: string, body: string | null): Promise<{ status: number; text: string }> {
    const method = body === null ? 'GET' : 'POST';
    const headers = { 'content-type': 'application/json' };
    try {
      const response = await directFetch(url + path, { method, headers, body });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      // When the process ends, its connections break before its end is reported.
      const lost = within(END_LIMIT_MS, 'the end of a chain that no longer answers', ended);
      throw await lost.catch(() => new DevnetError('ended', `The chain did not answer ${path}.`, { cause }));
    }
  }
  return async <T>(path: string, body?: object): Promise<T> => {
    const answer = sendRequest(path, serializeBody(body));
    const { status, text } = await within(limitMs, `the answer to ${path}`, answer);
    if (status !== OK) throw refusedError(path, status, text);
    return JSON.parse(text) as T;
  };
}

function makeHooks(ask: Ask, inbox: Inbox, defaultLimit: number): Hooks {
  let started: Promise<{ secret: string; url: string }> | null = null;
  async function start() {
    const { signing_secret: secret } = await ask<{ signing_secret: string }>('/chainhooks/me/secret', {});
    return { secret, url: await inbox.listen(secret) };
  }
  const receiver = () => {
    started ??= start();
    return started;
  };
  return {
    async add<const O extends HookOptions>({ name = 'test', filters, options }: HookDefinition<O>) {
      const { url } = await receiver();
      const { uuid, status } = await ask<{ uuid: string; status: { warnings: string[] } }>('/chainhooks/me', {
        name,
        version: '1',
        chain: 'stacks',
        network: 'testnet',
        filters,
        options: {
          ...options,
          decode_clarity_values: options?.decode_clarity_values ?? true,
          enable_on_registration: options?.enable_on_registration ?? true,
        },
        action: { type: 'http_post', url },
      });
      const next = ({ limitMs = defaultLimit } = {}) => inbox.next(uuid, limitMs);
      return { uuid, warnings: status.warnings, next } as Hook as Hook<ValueOf<O>>;
    },
    async next({ limitMs = defaultLimit } = {}) {
      if (started === null)
        throw new DevnetError('refused', 'No chainhook delivers here: call chain.hooks.add() first.');
      return inbox.next(null, limitMs);
    },
    answer: (answer = {}) => inbox.answer(answer),
    secret: async () => (await receiver()).secret,
  };
}

/** A transaction in the server's answer. */
type TransactionAnswer = Omit<Sent, 'value'> & { result: string };

const toSent = ({ result, ...answer }: TransactionAnswer): Sent => ({ ...answer, value: decodedValue(result) });

type AccountFunctions<C extends ContractTypes = ContractTypes> = Pick<
  Devnet<C>,
  'account' | 'balance' | 'transfer' | 'deploy' | 'call' | 'read'
>;

/** Returns options as members of a body, with the sender's name. */
const withSenderName = ({ sender, ...options }: Sender): object => ({
  ...options,
  ...(sender === undefined ? {} : { sender: typeof sender === 'string' ? sender : (sender?.name ?? sender) }),
});

/** Returns the address of an account; a text unchanged. A test without types may pass undefined, which gives `undefined`. */
const textOf = (owner: Owner | undefined): string => String(typeof owner === 'string' ? owner : owner?.address);

const PRINCIPAL = /^S[0-9A-Z]{30,}(\..+)?$/;

/** Makes the functions that sign transactions and read. @param projectAccounts addresses of the project's accounts, by name */
function makeAccounts(ask: Ask, projectAccounts: ReadonlyMap<string, string>): AccountFunctions {
  const accounts = new Map<string, Promise<Account>>();
  /** Identifiers of the contracts that the test deployed, by name. */
  const contracts = new Map<string, string>();
  let deployed = 0;

  async function fundAccount(name: string, amount: Amount): Promise<Account> {
    const account = await ask<Omit<Account, 'name'>>('/stackside/v1/devnet/account', { name });
    if (!projectAccounts.has(name))
      await ask('/stackside/v1/devnet/fund', { address: account.address, amount: String(amount) });
    return { name, ...account };
  }

  /** The error for a name that no account has. */
  function unknownAccount(name: string, field: string): DevnetError {
    const accountNames = [...new Set([...projectAccounts.keys(), ...accounts.keys()])].join(', ') || 'none yet';
    return new DevnetError('refused', `No account is named ${name}. Accounts: ${accountNames}.`, { field });
  }

  /** Returns the address of a known account. @throws DevnetError */
  async function findAddress(name: string, field: string): Promise<string> {
    if (PRINCIPAL.test(name)) return name;
    const address = projectAccounts.get(name) ?? (await accounts.get(name))?.address;
    if (address === undefined) throw unknownAccount(name, field);
    return address;
  }

  /** Returns the identifier of a contract of the project, or that `deploy` deployed. @throws DevnetError */
  async function findContract(name: string, field: string): Promise<string> {
    if (PRINCIPAL.test(name)) return name;
    const id = contracts.get(name);
    if (id !== undefined) return id;
    for (const address of projectAccounts.values()) {
      const contractInterface = await ask(`/v2/contracts/interface/${address}/${name}`).catch((error: unknown) => {
        if (error instanceof DevnetError && error.status === NOT_FOUND) return null;
        throw error;
      });
      if (contractInterface !== null) return `${address}.${name}`;
    }
    throw new DevnetError('refused', `No account has deployed a contract named ${name}.`, { field });
  }

  async function balance(accountOrName: Owner, asset?: string): Promise<bigint> {
    const owner = textOf(accountOrName);
    const isAccount = PRINCIPAL.test(owner) || projectAccounts.has(owner) || accounts.has(owner);
    const principal = await (isAccount ? findAddress(owner, 'owner') : findContract(owner, 'owner'));
    const [contract = '', token] = asset?.split('::') ?? [];
    const id = token === undefined ? null : `${await findContract(contract, 'asset')}::${token}`;
    const balances = await ask<{ stx: { balance: string }; fungible_tokens: Record<string, { balance: string }> }>(
      `/extended/v1/address/${principal}/balances`,
    );
    return BigInt((id === null ? balances.stx : balances.fungible_tokens[id])?.balance ?? 0);
  }

  return {
    async account(name, amount) {
      if (amount === undefined && projectAccounts.size > 0 && !projectAccounts.has(name) && !accounts.has(name))
        throw unknownAccount(name, 'name');
      const account = accounts.get(name) ?? fundAccount(name, amount ?? INITIAL_BALANCE);
      accounts.set(name, account);
      return account;
    },
    balance,
    async transfer(recipient, amount, options = {}) {
      const body = {
        recipient: await findAddress(textOf(recipient), 'recipient'),
        amount: String(amount),
        ...withSenderName(options),
      };
      return toSent(await ask<TransactionAnswer>('/stackside/v1/devnet/transfer', body));
    },
    async deploy(source, { name, clarityVersion, ...sender } = {}): Promise<Deployed> {
      deployed += 1;
      const contract = name ?? `contract-${deployed}`;
      const version = clarityVersion === undefined ? {} : { clarity_version: clarityVersion };
      const { error_line: line, ...answer } = await ask<TransactionAnswer & { error_line: number | null }>(
        '/stackside/v1/devnet/deploy',
        { source, name: contract, ...version, ...withSenderName(sender) },
      );
      const sent = toSent(answer);
      if (sent.status !== 'success') {
        const place = line === null ? '' : ` in the definition that begins on line ${line}`;
        const message = `The contract ${contract} can't be deployed${place}: ${sent.error ?? sent.repr}`;
        throw new DevnetError('not_deployed', message, { reason: sent.error ?? sent.repr });
      }
      const id = `${sent.sender}.${contract}` as const;
      contracts.set(contract, id);
      return { ...sent, contract_id: id };
    },
    async call(contract: string, name: string, args: readonly string[] = [], options: Sender = {}) {
      const body = { contract, function: name, arguments: args, ...withSenderName(options) };
      return toSent(await ask<TransactionAnswer>('/stackside/v1/devnet/call', body));
    },
    async read(contract: string, name: string, args: readonly string[] = [], options: Sender = {}): Promise<Value> {
      const body = { contract, function: name, arguments: args, ...withSenderName(options) };
      return decodedValue((await ask<{ result: string }>('/stackside/v1/devnet/read', body)).result);
    },
  };
}

/** Starts a simulated chain with an API. @throws DevnetError */
export async function startDevnet<C extends ContractTypes = ContractTypes>(
  options: DevnetOptions = {},
): Promise<Devnet<C>> {
  const { port = 0, seed = 1, history = 1, pox5Height, clarity, fork, state, limitMs = LIMIT_MS } = options;
  const executable = options.executable ?? process.env.STACKSIDE_EXECUTABLE ?? packagedExecutable();
  const source = clarity === undefined ? { 'past-blocks': history } : { clarity, fork, state };
  const settings = { 'api-port': port, 'event-port': 0, seed, 'block-time': 0, 'pox-5-height': pox5Height, ...source };
  const flags = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  );
  const chain = await startProcess(
    executable,
    [clarity === undefined ? 'demo' : 'devnet', '--until-stdin-ends', ...flags],
    limitMs,
  );
  const ask = requester(chain, limitMs);
  const inbox = new Inbox();
  void chain.ended.then((error) => inbox.fail(error));
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= chain.stop().finally(() => inbox.close());
    return stopped;
  };
  return {
    url: chain.url,
    hooks: makeHooks(ask, inbox, limitMs),
    mine: async (count = 1, transactions = []) =>
      (await ask<{ blocks: Block[] }>('/stackside/v1/devnet/mine', { count, transactions })).blocks,
    fork: (depth = 1) => ask<Fork>('/stackside/v1/devnet/fork', { depth }),
    bitcoin: async (count = 1) => (await ask<{ blocks: Block[] }>('/stackside/v1/devnet/bitcoin', { count })).blocks,
    advance: async (seconds) => {
      await ask('/stackside/v1/devnet/time', { seconds });
    },
    tip: async () => (await ask<{ tip: Block }>('/stackside/v1/devnet')).tip,
    snapshot: async (name = SNAPSHOT) => {
      await ask('/stackside/v1/devnet/snapshot', { name });
    },
    revert: (to = SNAPSHOT) =>
      ask<Reverted>(
        '/stackside/v1/devnet/revert',
        typeof to === 'string' ? { snapshot: to } : { index_block_hash: to.index_block_hash },
      ),
    transaction: async (txId) => toSent(await ask<TransactionAnswer>(`/stackside/v1/devnet/transactions/${txId}`)),
    ...(makeAccounts(ask, chain.accounts) as AccountFunctions<C>),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
