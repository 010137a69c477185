/**
 * `stackside/test`: a simulated chain for tests of apps. The npm package contains this file, bundled for Node and Bun.
 */
import { createRequire } from 'node:module';
import { plural } from '../base/format.ts';
import { directFetch } from '../http/direct-fetch.ts';
import { type ChainProcess, startProcess } from './chain-process.ts';
import { DevnetError, within } from './errors.ts';
import { Inbox } from './inbox.ts';
import { requireDevnetOptions, requireHookMembers, requireLimit } from './options.ts';
import type {
  Account,
  Amount,
  Block,
  ContractTypes,
  Delivery,
  Deployed,
  Devnet,
  DevnetOptions,
  Fork,
  Hook,
  HookDefinition,
  HookOptions,
  Hooks,
  Limit,
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

/** Whether a text looks like an address or a contract. The server names what is wrong with it, such as its checksum. */
const looksLikePrincipal = (text: string): boolean => /^S[0-9A-Z]{27,}(\..+)?$/.test(text);

const NO_CONTENT = 204;
const NOT_FOUND = 404;
/** Enough for a busy CI machine. */
const LIMIT_MS = 180_000;
/** Less than the five seconds after which `bun test` ends a test, so that the test fails with the error of the wait. */
const DELIVERY_LIMIT_MS = 4_000;
/** Maximum milliseconds to explain why no delivery came, if the test chose no limit: {@link DELIVERY_LIMIT_MS} passed already. */
const EXPLANATION_LIMIT_MS = 500;
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

const isNotFound = (error: unknown): boolean => error instanceof DevnetError && error.status === NOT_FOUND;

/** Ignores the answer that a chainhook doesn't exist: the test may have deleted it. */
function ignoreDeleted(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/** Sends a request: POST with a body, otherwise GET. */
type Ask = <T>(path: string, body?: object, method?: 'DELETE') => Promise<T>;

function requester({ url, ended }: ChainProcess, limitMs: number): Ask {
  async function sendRequest(
    path: string,
    body: string | null,
    method = body === null ? 'GET' : 'POST',
  ): Promise<Pick<Response, 'ok' | 'status'> & { text: string }> {
    const headers = { 'content-type': 'application/json' };
    try {
      const response = await directFetch(url + path, { method, headers, body });
      return { ok: response.ok, status: response.status, text: await response.text() };
    } catch (cause) {
      // When the process ends, its connections break before its end is reported.
      const lost = within(END_LIMIT_MS, 'the end of a chain that no longer answers', ended);
      throw await lost.catch(() => new DevnetError('ended', `The chain did not answer ${path}.`, { cause }));
    }
  }
  return async <T>(path: string, body?: object, method?: 'DELETE'): Promise<T> => {
    const answer = sendRequest(path, serializeBody(body), method);
    const { ok, status, text } = await within(limitMs, `the answer to ${path}`, answer);
    if (status === NO_CONTENT) return undefined as T;
    if (!ok) throw refusedError(path, status, text);
    return JSON.parse(text) as T;
  };
}

/** A chainhook in the server's answer. */
interface HookAnswer {
  uuid: string;
  definition: { name: string };
  status: {
    status: string;
    enabled: boolean;
    warnings: string[];
    pending_deliveries: number;
    last_error: string | null;
    interrupted_reason: string | null;
    paused_reason: string | null;
  };
}

/** Describes the state of a chainhook, to follow the error of a wait for its delivery. */
function describeHook({ definition: { name }, status }: HookAnswer): string {
  const { status: state, enabled, paused_reason: paused, interrupted_reason: interrupted, last_error: error } = status;
  const words = [state, ...(enabled ? [] : ['disabled']), ...(paused === null ? [] : [`paused (${paused})`])];
  const cause = interrupted ?? error;
  const pending = plural(status.pending_deliveries, 'waiting delivery');
  return `The chainhook "${name}" is ${words.join(', ')}, with ${pending}${cause === null ? '' : `: ${cause}`}.`;
}

/** The state of chainhooks that a snapshot restores. */
interface SavedHooks {
  uuids: ReadonlySet<string>;
  inbox: ReturnType<Inbox['save']>;
}

/** Makes the functions of chainhooks. @param limitMs limit of waits that the test chose */
function makeHooks(ask: Ask, inbox: Inbox, limitMs: number | undefined) {
  /** Uuids of the chainhooks that deliver to the inbox. */
  const uuids = new Set<string>();
  let started: Promise<{ secret: string; url: string }> | null = null;
  async function start() {
    const { signing_secret: secret } = await ask<{ signing_secret: string }>('/chainhooks/me/secret', {});
    return { secret, url: await inbox.listen(secret) };
  }
  const receiver = () => {
    started ??= start();
    return started;
  };

  /** Waits for a delivery. At the limit, the error has the state of the chainhook, or of all that fail. */
  async function next(uuid: string | null, limit: Limit = {}): Promise<Delivery> {
    requireLimit(limit);
    try {
      return await inbox.next(uuid, limit.limitMs ?? limitMs ?? DELIVERY_LIMIT_MS);
    } catch (error) {
      if (!(error instanceof DevnetError) || error.problem !== 'time_limit') throw error;
      const answer =
        uuid === null
          ? ask<{ results: HookAnswer[] }>('/chainhooks/me?failing=true').then(({ results }) => results)
          : ask<HookAnswer>(`/chainhooks/me/${uuid}`).then((hook) => [hook]);
      // The error of the wait is more important than the failure to explain it.
      const hooks = await within(limitMs ?? EXPLANATION_LIMIT_MS, 'the state', answer).catch(() => []);
      const message = [error.message, ...hooks.map(describeHook)].join(' ');
      throw new DevnetError('time_limit', message, { cause: error });
    }
  }

  const hooks: Hooks = {
    async add<const O extends HookOptions>(definition: HookDefinition<O>) {
      requireHookMembers(definition);
      const { name = 'test', filters, options } = definition;
      const { url } = await receiver();
      const { uuid, status } = await ask<HookAnswer>('/chainhooks/me', {
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
      uuids.add(uuid);
      return { uuid, warnings: status.warnings, next: (limit) => next(uuid, limit) } as Hook as Hook<ValueOf<O>>;
    },
    async next(limit) {
      if (uuids.size === 0)
        throw new DevnetError('refused', 'No chainhook delivers here: call chain.hooks.add() first.');
      return next(null, limit);
    },
    answer: (answer = {}) => inbox.answer(answer),
    secret: async () => (await receiver()).secret,
  };
  return {
    hooks,
    save: (): SavedHooks => ({ uuids: new Set(uuids), inbox: inbox.save() }),

    /**
     * Removes the chainhooks that were added since, restores the inbox, and sends failed deliveries again without their
     * wait.
     * @param before the state before the chain returned
     */
    async restore(saved: SavedHooks, before: SavedHooks): Promise<void> {
      inbox.restore(saved.inbox, before.inbox);
      for (const uuid of [...uuids].filter((added) => !saved.uuids.has(added))) {
        uuids.delete(uuid);
        inbox.remove(uuid);
        await ask(`/chainhooks/me/${uuid}`, undefined, 'DELETE').catch(ignoreDeleted);
      }
      for (const uuid of uuids) {
        await ask(`/chainhooks/me/${uuid}/deliveries/redeliver`, { state: ['failed'] }).catch(ignoreDeleted);
      }
    },
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

/** An account or a contract that exists since a transaction; null if it exists from the start. */
interface Made<T> {
  value: T;
  txId: string | null;
}

/** Makes the functions that sign transactions and read. @param projectAccounts addresses of the project's accounts, by name */
function makeAccounts(ask: Ask, projectAccounts: ReadonlyMap<string, string>) {
  const accounts = new Map<string, Promise<Made<Account>>>();
  /** Identifiers of the contracts that the test deployed, by name. */
  const contracts = new Map<string, Made<string>>();
  let deployed = 0;

  async function fundAccount(name: string, amount: Amount): Promise<Made<Account>> {
    const account = await ask<Omit<Account, 'name'>>('/stackside/v1/devnet/account', { name });
    const value = { name, ...account };
    if (projectAccounts.has(name)) return { value, txId: null };
    const body = { address: account.address, amount: String(amount) };
    const { tx_id: txId } = await ask<{ tx_id: string }>('/stackside/v1/devnet/fund', body);
    return { value, txId };
  }

  /** Whether the canonical chain contains a transaction. */
  async function isMined(txId: string): Promise<boolean> {
    try {
      const transaction = await ask<{ tx_status: string; canonical?: boolean }>(`/extended/v1/tx/${txId}`);
      return transaction.tx_status === 'success' && transaction.canonical !== false;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Forgets the accounts and contracts whose transactions are no longer in the chain. */
  async function forgetReverted(): Promise<void> {
    const forget = async <T>(map: Map<string, T>, name: string, entry: T, txId: string | null | undefined) => {
      // A later call may have replaced the entry.
      if (txId != null && !(await isMined(txId)) && map.get(name) === entry) map.delete(name);
    };
    await Promise.all([
      ...[...accounts].map(async ([name, account]) =>
        // A failed call forgets its account itself.
        forget(accounts, name, account, (await account.catch(() => null))?.txId),
      ),
      ...[...contracts].map(([name, contract]) => forget(contracts, name, contract, contract.txId)),
    ]);
  }

  /** The error for a name that no account has. */
  function unknownAccount(name: string, field: string): DevnetError {
    const accountNames = [...new Set([...projectAccounts.keys(), ...accounts.keys()])].join(', ') || 'none yet';
    return new DevnetError('refused', `No account is named ${name}. Accounts: ${accountNames}.`, { field });
  }

  /** Returns the address of a known account. @throws DevnetError */
  async function findAddress(name: string, field: string): Promise<string> {
    if (looksLikePrincipal(name)) return name;
    const address = projectAccounts.get(name) ?? (await accounts.get(name))?.value.address;
    if (address === undefined) throw unknownAccount(name, field);
    return address;
  }

  /** Returns the identifier of a contract of the project, or that `deploy` deployed. @throws DevnetError */
  async function findContract(name: string, field: string): Promise<string> {
    if (looksLikePrincipal(name)) return name;
    const id = contracts.get(name)?.value;
    if (id !== undefined) return id;
    for (const address of projectAccounts.values()) {
      const id = `${address}.${name}`;
      if ((await readInterface(id)) !== null) return id;
    }
    throw new DevnetError('refused', `No account has deployed a contract named ${name}.`, { field });
  }

  /** Returns a contract's interface, or null if the contract doesn't exist. */
  async function readInterface(id: string): Promise<{ fungible_tokens: { name: string }[] } | null> {
    try {
      return await ask(`/v2/contracts/interface/${id.replace('.', '/')}`);
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  /** Returns the identifier of a fungible token. @param asset such as `token::gold` @throws DevnetError */
  async function findToken(asset: string): Promise<string> {
    const field = 'asset';
    const [contract = '', token] = asset.split('::');
    if (token === undefined)
      throw new DevnetError('refused', `${asset} is not a token: write a contract, :: and a token.`, { field });
    const id = await findContract(contract, field);
    const contractInterface = await readInterface(id);
    if (contractInterface === null) throw new DevnetError('refused', `The contract ${id} doesn't exist.`, { field });
    const names = contractInterface.fungible_tokens.map(({ name }) => name);
    if (names.includes(token)) return `${id}::${token}`;
    const message = `${id} defines no fungible token ${token}. Its tokens: ${names.join(', ') || 'none'}.`;
    throw new DevnetError('refused', message, { field });
  }

  async function balance(accountOrName: Owner, asset?: string): Promise<bigint> {
    const owner = textOf(accountOrName);
    const isAccount = looksLikePrincipal(owner) || projectAccounts.has(owner) || accounts.has(owner);
    const principal = await (isAccount ? findAddress(owner, 'owner') : findContract(owner, 'owner'));
    const id = asset === undefined ? null : await findToken(asset);
    const balances = await ask<{ stx: { balance: string }; fungible_tokens: Record<string, { balance: string }> }>(
      `/extended/v1/address/${principal}/balances`,
    );
    return BigInt((id === null ? balances.stx : balances.fungible_tokens[id])?.balance ?? 0);
  }

  const functions: AccountFunctions = {
    async account(name, amount) {
      if (amount === undefined && projectAccounts.size > 0 && !projectAccounts.has(name) && !accounts.has(name))
        throw unknownAccount(name, 'name');
      const account = accounts.get(name) ?? fundAccount(name, amount ?? INITIAL_BALANCE);
      accounts.set(name, account);
      try {
        return (await account).value;
      } catch (error) {
        if (accounts.get(name) === account) accounts.delete(name);
        throw error;
      }
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
      contracts.set(contract, { value: id, txId: sent.tx_id });
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
  return { functions, forgetReverted };
}

/** Starts a simulated chain with an API. @throws DevnetError */
export async function startDevnet<C extends ContractTypes = ContractTypes>(
  options: DevnetOptions = {},
): Promise<Devnet<C>> {
  requireDevnetOptions(options);
  const { port = 0, seed = 1, history = 1, pox5Height, clarity, fork, state, limitMs = LIMIT_MS } = options;
  const executable = options.executable ?? process.env.STACKSIDE_EXECUTABLE ?? packagedExecutable();
  // A project's app broadcasts transactions, and a test doesn't request a block for each.
  const source = clarity === undefined ? { 'past-blocks': history } : { clarity, fork, state, automine: 'true' };
  const settings = {
    'api-port': port,
    'event-port': 0,
    seed,
    'block-time': 0,
    'pox-5-height': pox5Height,
    'unsafe-impersonate': options.unsafeImpersonate,
    ...source,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name}`, String(value)];
  });
  const chain = await startProcess(
    executable,
    [clarity === undefined ? 'demo' : 'devnet', '--until-stdin-ends', ...flags],
    limitMs,
  );
  const ask = requester(chain, limitMs);
  const inbox = new Inbox();
  void chain.ended.then((error) => inbox.fail(error));
  const { hooks, ...hookState } = makeHooks(ask, inbox, options.limitMs);
  const { functions, forgetReverted } = makeAccounts(ask, chain.accounts);
  /** The state of chainhooks at each snapshot, by name. */
  const snapshots = new Map<string, SavedHooks>();
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= chain.stop().finally(() => inbox.close());
    return stopped;
  };
  return {
    url: chain.url,
    hooks,
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
      snapshots.set(name, hookState.save());
    },
    revert: async (to = SNAPSHOT) => {
      const before = hookState.save();
      const reverted = await ask<Reverted>(
        '/stackside/v1/devnet/revert',
        typeof to === 'string' ? { snapshot: to } : { index_block_hash: to.index_block_hash },
      );
      const saved = typeof to === 'string' ? snapshots.get(to) : undefined;
      if (saved !== undefined) await hookState.restore(saved, before);
      await forgetReverted();
      return reverted;
    },
    transaction: async (txId) => toSent(await ask<TransactionAnswer>(`/stackside/v1/devnet/transactions/${txId}`)),
    ...(functions as AccountFunctions<C>),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
