/** The operator, who manages chainhooks through the API, repeats requests until answered, and records each hook's expected state. */
import { Database } from 'bun:sqlite';
import type { Filter } from '../../src/hooks/definition/filter-schemas.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { definition } from '../hooks/server.ts';
import { NoAnswer, type Server } from './server.ts';
import type { World } from './world.ts';

/** Milliseconds. */
const RETRY = 400;

const filterSets = [
  [{ type: 'coinbase' }, { type: 'tenure_change' }],
  [{ type: 'stx_event' }],
  [{ type: 'contract_call' }, { type: 'ft_event' }],
  [{ type: 'tenure_change' }, { type: 'stx_event' }, { type: 'contract_call' }, { type: 'contract_deploy' }],
] as const satisfies Filter[][];

/** Start of an enabled hook; undefined uses the server's default. */
export type From = 'tip' | 'last_evaluated' | undefined;

/** `hook` is the index of a hook, oldest first. An index beyond the last hook starts again with the oldest. */
export type Operation =
  | { operate: 'register'; filters: number }
  | { operate: 'disable'; hook: number }
  | { operate: 'enable'; hook: number; from: From }
  /** Pauses a hook, then continues at the same block. */
  | { operate: 'pause'; hook: number; milliseconds: number }
  | { operate: 'remove'; hook: number }
  | { operate: 'move'; hook: number }
  | { operate: 'redeliver'; hook: number }
  | { operate: 'backfill'; hook: number }
  | { operate: 'evaluate'; hook: number }
  | { operate: 'secret'; change: 'new' | 'none' };

type HookOperation = Extract<Operation, { hook: number }>;

export interface Hook {
  uuid: string;
  filters: Filter[];
  /** Path of the URL that the hook delivers to. */
  path: string;
  /** The tip when the hook started or restarted at the tip. The hook must get all blocks from there on. Null before the first block. */
  since: string | null;
  removed: boolean;
  /** Whether the hook was notified of past blocks among live ones. It is also notified when they leave the chain. */
  backfilled: boolean;
  /** Whether deliveries were sent again. The log shows their outcome, even if nobody accepted them. */
  redelivered: boolean;
  /** Whether the server was restored since the hook was registered, and so lost its last deliveries. */
  restored: boolean;
}

/** Error for a hook that a restored server lacks. */
class LostHookError extends Error {
  override readonly name = 'LostHookError';
}

/** A delivery as listed in the delivery history. */
export interface Logged {
  id: string;
  state: string;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into
type Body = any;

/** A period in which deliveries are signed, in milliseconds of the world. */
export interface Signed {
  from: number;
  to: number;
}

export class Operator {
  readonly hooks: Hook[] = [];
  /** When there certainly was a secret. */
  readonly signed: Signed[] = [];
  readonly #world: World;
  readonly #server: Server;
  #names = 0;
  #isRestored = false;
  #working: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(world: World, server: Server) {
    this.#world = world;
    this.#server = server;
  }

  get isDone(): boolean {
    return this.#waiting === 0;
  }

  /** Records a restore of the server: its newest data is lost, and it may lack the secret. */
  restored(): void {
    this.#isRestored = true;
    for (const hook of this.hooks) hook.restored = true;
    const last = this.signed.at(-1);
    if (last !== undefined) last.to = Math.min(last.to, this.#world.time);
  }

  /** One after the other. */
  do(operation: Operation): void {
    this.#waiting += 1;
    this.#working = this.#working
      .then(() => this.#perform(operation))
      .catch((error) => this.#world.wrong(`${operation.operate} failed`, error))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  /** Has every hook that is left deliver all that it is owed. */
  async deliverAll(): Promise<void> {
    // A new secret ends the wait for the key. Without a key, no secret can be created.
    let tries = this.hooks.length;
    for (const hook of this.#left()) {
      await this.#unlessLost(hook, async () => {
        for (;;) {
          const { status } = await this.#ask('GET', `/me/${hook.uuid}`);
          const isWell = status.enabled && (status.status === 'streaming' || status.status === 'new');
          if (!status.enabled) await this.#enable(hook, 'last_evaluated');
          else if (status.paused_reason !== null) await this.#changeSecret(tries++ % 2 === 0 ? 'new' : 'none');
          else if (isWell && status.pending_deliveries === 0 && status.lag_blocks === 0) break;
          await this.#world.pause(RETRY);
        }
      });
    }
  }

  async #unlessLost(hook: Hook, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof LostHookError)) throw error;
      hook.removed = true;
    }
  }

  /** Returns the log of each remaining hook, oldest first. */
  async logs(): Promise<Map<Hook, Logged[]>> {
    const logs = new Map<Hook, Logged[]>();
    for (const hook of this.#left()) logs.set(hook, await this.#log(hook));
    return logs;
  }

  readonly #left = (): Hook[] => this.hooks.filter(({ removed }) => !removed);

  async #log({ uuid }: Hook): Promise<Logged[]> {
    const logged: Body[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = `limit=50${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const page = await this.#ask('GET', `/me/${uuid}/deliveries?${query}`);
      logged.push(...page.results);
      cursor = page.cursor.next;
    }
    return logged.reverse();
  }

  async #perform(operation: Operation): Promise<void> {
    if (operation.operate === 'register') return this.#register(operation.filters);
    if (operation.operate === 'secret') return this.#changeSecret(operation.change);
    const present = this.#left();
    const hook = present[operation.hook % present.length];
    if (hook === undefined) return;
    return this.#unlessLost(hook, () => this.#performOn(hook, operation));
  }

  async #performOn(hook: Hook, operation: HookOperation): Promise<void> {
    const path = `/me/${hook.uuid}`;
    switch (operation.operate) {
      case 'disable':
        await this.#ask('PATCH', `${path}/enabled`, { enabled: false });
        return;
      case 'enable':
        return this.#enable(hook, operation.from);
      case 'pause':
        await this.#ask('PATCH', `${path}/enabled`, { enabled: false });
        await this.#world.pause(operation.milliseconds);
        return this.#enable(hook, 'last_evaluated');
      case 'remove':
        hook.removed = true;
        await this.#ask('DELETE', path, undefined, [204, 404]);
        return;
      case 'move':
        hook.path = `/${this.#names++}`;
        await this.#ask('PATCH', path, { action: this.#definition(hook.path, []).action });
        return;
      case 'redeliver':
        hook.redelivered = true;
        await this.#ask('POST', `${path}/deliveries/redeliver`, { state: ['delivered', 'failed'] });
        return;
      case 'backfill':
        hook.backfilled = true;
        await this.#ask('POST', `${path}/backfills`, { from_height: 1 }, [200, 202, 400]);
        return;
      case 'evaluate':
        await this.#ask('POST', `${path}/evaluate`, { block_height: 2 }, [200, 202, 204, 404]);
        return;
    }
  }

  async #changeSecret(change: 'new' | 'none'): Promise<void> {
    const last = this.signed.at(-1);
    if (change === 'none') {
      if (last !== undefined) last.to = Math.min(last.to, this.#world.time);
      await this.#ask('DELETE', '/me/secret');
      return;
    }
    // A server with a damaged key, or a cluster host without a key, doesn't create a secret: the old one stays.
    const { secret } = await this.#ask('POST', '/me/secret', undefined, [200, 409]);
    if (secret === undefined) return;
    if (last === undefined || last.to < Number.POSITIVE_INFINITY) {
      this.signed.push({ from: this.#world.time, to: Number.POSITIVE_INFINITY });
    }
  }

  async #register(filters: number): Promise<void> {
    const events: Filter[] = [...(filterSets[filters % filterSets.length] ?? [])];
    for (;;) {
      const path = `/${this.#names++}`;
      const answer = await this.#try('POST', '/me', this.#definition(path, events));
      if (answer?.status === 200) {
        this.hooks.push({
          uuid: answer.body.uuid,
          filters: events,
          path,
          since: this.#tip(),
          removed: false,
          backfilled: false,
          redelivered: false,
          restored: false,
        });
        return;
      }
      // The hook may exist, with an unknown start block: replace it.
      await this.#world.pause(RETRY);
      const { results } = await this.#ask('GET', '/me?limit=60');
      for (const { uuid, definition: settings } of results) {
        if (settings.name === path) await this.#ask('DELETE', `/me/${uuid}`, undefined, [204, 404]);
      }
    }
  }

  async #enable(hook: Hook, from: From): Promise<void> {
    const { status } = await this.#ask('GET', `/me/${hook.uuid}`);
    const body = { enabled: true, ...(from === undefined ? {} : { resume_from: from }) };
    // An enabled hook can't start at the tip.
    await this.#ask('PATCH', `/me/${hook.uuid}/enabled`, body, from === 'tip' ? [204, 400] : [204]);
    // An answer may have been lost: it may be at the tip of then, or of now.
    const isSeamless = from === 'last_evaluated' || (from === undefined && status.status === 'interrupted');
    // A hook that has not evaluated a block can't continue.
    const hasSeen = status.status !== 'new';
    if (!status.enabled && !(isSeamless && hasSeen)) hook.since = this.#tip();
  }

  #definition = (path: string, events: readonly Filter[]) => ({
    ...definition(`http://10.0.0.1${path}`, [...events], { enable_on_registration: true }),
    name: path,
  });

  /** Repeats a request until it is answered. @throws Error for any other status than the wanted ones */
  async #ask(method: string, path: string, body?: unknown, statuses = [200, 202, 204]): Promise<Body> {
    for (;;) {
      const answer = await this.#try(method, path, body);
      if (answer !== null && statuses.includes(answer.status)) return answer.body;
      if (answer?.status === 404 && this.#isRestored) throw new LostHookError();
      if (answer !== null && answer.status !== 503 && answer.status !== 500) {
        throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
      await this.#world.pause(RETRY);
    }
  }

  async #try(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body } | null> {
    try {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await this.#server.request('The API', `/chainhooks${path}`, { method, ...sent });
      const text = await response.text();
      this.#world.note(`${method} ${path} ${response.status}`);
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    } catch (error) {
      if (error instanceof NoAnswer) return null;
      throw error;
    }
  }

  #tip(): string | null {
    using db = new Database(indexPath(this.#server.disk.path), { readonly: true });
    const row = db
      .query<{ hash: string }, []>(
        'SELECT lower(hex(index_block_hash)) AS hash FROM blocks ORDER BY height DESC LIMIT 1',
      )
      .get();
    return row === null ? null : `0x${row.hash}`;
  }
}
