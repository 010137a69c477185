/** What a consumer does with its hooks. Every function takes the consumer, who sees nobody else's. */
import { fromHex } from '../codec/hex.ts';
import type { HookRecord } from '../store/hooks/model.ts';
import { UnknownParentError } from '../store/ingest/chain-writer.ts';
import { activeHook, definitionOf } from './active-hook.ts';
import { type HookDefinition, patchedDefinition, readDefinition } from './definition.ts';
import { newSecret, signingSecret } from './delivery/signature.ts';
import { TargetRefused, TargetUnresolved } from './delivery/target.ts';
import type { ResumeFrom } from './lifecycle.ts';
import { payloadText } from './payload.ts';
import { HookProblem, invalidField, unknownBlock, unknownHook } from './problem.ts';
import { scanner } from './scan.ts';
import { serializedHook } from './serialize.ts';
import type { Chainhooks } from './service.ts';
import { webhookId } from './webhook-id.ts';

/** Which hooks a bulk change is of; all that is given must hold. */
export interface BulkFilters {
  uuids?: readonly string[];
  webhook_url?: string;
  statuses?: readonly HookRecord['status'][];
}

/** A block by height, by index block hash, or both where they agree. */
export interface BlockChoice {
  index_block_hash?: string;
  block_height?: number;
}

/** On-demand evaluations of a hook that may wait for its receiver. */
const MOST_EVALUATIONS = 10_000;

/** @param mostHooks of one consumer, null for any number */
export function management(hooks: Chainhooks, mostHooks: number | null) {
  const { store, history, write, evaluator, lifecycle, guard, network, clock, chance } = hooks;
  const { records, deliveries, secrets } = store;

  /** @throws HookProblem 404 */
  function own(consumer: string, uuid: string): HookRecord {
    const record = records.find(uuid.toLowerCase(), consumer);
    if (record === undefined) throw unknownHook();
    return record;
  }

  function shown(record: HookRecord) {
    const lag = Math.max(0, history.tip().height - record.cursor.height);
    return serializedHook(
      record,
      deliveries.waiting(record.id),
      record.stage === 'idle' && record.status === 'new' ? 0 : lag,
    );
  }

  /** @throws HookProblem 400 where the URL may not be called; a name that isn't known yet may be */
  async function checkTarget({ action }: HookDefinition): Promise<void> {
    try {
      await guard.check(action.url);
    } catch (error) {
      if (error instanceof TargetRefused) throw invalidField('action.url', `is not allowed: ${error.message}`);
      if (!(error instanceof TargetUnresolved)) throw error;
    }
  }

  /** @throws HookProblem 409 where the consumer may have no more */
  function checkRoom(consumer: string): void {
    if (mostHooks === null || records.count(consumer) < mostHooks) return;
    throw new HookProblem(409, `No more than ${mostHooks} chainhooks may be registered: delete one first`);
  }

  /** @throws HookProblem 404 unless it is canonical, 400 where height and hash name different blocks */
  function chosenBlock({ index_block_hash: hash, block_height: height }: BlockChoice): Uint8Array {
    const atHeight = height === undefined ? undefined : canonicalAt(height);
    if (hash === undefined) {
      if (atHeight === undefined) throw unknownBlock();
      return atHeight;
    }
    const bytes = fromHex(hash);
    const found = branchOf(bytes);
    if (found === undefined) throw unknownBlock();
    if (height !== undefined && height !== found) {
      throw invalidField('block_height', `is not that of index_block_hash, which is ${found}`);
    }
    return bytes;
  }

  const canonicalAt = (height: number): Uint8Array | undefined => history.hashAt(height);

  /** Height of a canonical block. */
  function branchOf(hash: Uint8Array): number | undefined {
    try {
      const { forkHeight, hashes } = history.branchOf(hash);
      return hashes.length === 0 && forkHeight > 0 ? forkHeight : undefined;
    } catch (error) {
      if (error instanceof UnknownParentError) return undefined;
      throw error;
    }
  }

  function secretShown(consumer: string) {
    const found = secrets.find(consumer);
    return {
      secret: found === undefined ? null : found.secret.toHex(),
      signing_secret: found === undefined ? null : signingSecret(found.secret),
    };
  }

  return {
    own,
    shown,
    chosenBlock,

    async register(consumer: string, sent: unknown) {
      const definition = readDefinition(sent, network());
      await checkTarget(definition);
      const record = write(() => {
        checkRoom(consumer);
        return lifecycle.register(consumer, definition);
      }, 'synced');
      return shown(record);
    },

    page(consumer: string, limit: number, offset: number) {
      const { items, total } = records.page(consumer, limit, offset);
      return { limit, offset, total, results: items.map(shown) };
    },

    get: (consumer: string, uuid: string) => shown(own(consumer, uuid)),

    async update(consumer: string, uuid: string, sent: unknown) {
      const patched = (record: HookRecord) => patchedDefinition(definitionOf(record), sent, network());
      await checkTarget(patched(own(consumer, uuid)));
      // The definition may have changed while a name was looked up: what was sent goes into the one that is there now.
      const record = write(() => {
        const current = own(consumer, uuid);
        return lifecycle.redefine(current, patched(current));
      }, 'synced');
      return shown(record);
    },

    remove(consumer: string, uuid: string): void {
      write(() => lifecycle.remove(own(consumer, uuid)), 'synced');
    },

    setEnabled(consumer: string, uuid: string, enabled: boolean, from?: ResumeFrom): void {
      write(() => {
        const record = own(consumer, uuid);
        if (enabled) lifecycle.enable(record, from);
        else lifecycle.disable(record);
      }, 'synced');
    },

    /** @returns uuids of all that the filters name, oldest first */
    setManyEnabled(consumer: string, enabled: boolean, { uuids, webhook_url: url, statuses }: BulkFilters): string[] {
      const wanted = uuids === undefined ? null : new Set(uuids.map((uuid) => uuid.toLowerCase()));
      return write(() => {
        const chosen = records
          .all(consumer)
          .filter((record) => wanted === null || wanted.has(record.uuid))
          .filter((record) => statuses === undefined || statuses.includes(record.status))
          .filter((record) => url === undefined || definitionOf(record).action.url === url)
          .sort((a, b) => a.createdAt - b.createdAt || a.id - b.id);
        for (const record of chosen) {
          if (enabled) lifecycle.enable(record, undefined);
          else lifecycle.disable(record);
        }
        return chosen.map(({ uuid }) => uuid);
      }, 'synced');
    },

    /** Queues what the hook matches in a block; counters, status and budgets stay as they are. */
    evaluate(consumer: string, uuid: string, choice: BlockChoice): void {
      const record = own(consumer, uuid);
      const hash = chosenBlock(choice);
      const hook = activeHook(record);
      const matched = scanner({ history, candidates: store.candidates }, hook.conditions).at(hash);
      const of = network();
      if (matched === null || of === null) return;
      const told = { apply: [matched], rollback: [] };
      const body = payloadText(hook, of, told);
      write(() => {
        if (deliveries.openUpTo(hook.id, 'evaluate', MOST_EVALUATIONS) === MOST_EVALUATIONS) {
          throw new HookProblem(
            429,
            `${MOST_EVALUATIONS} evaluations wait for the receiver: try again, or use a backfill`,
          );
        }
        deliveries.add(
          {
            webhookId: webhookId(`${hook.uuid}/${chance.uuid()}`, body),
            hookId: record.id,
            lane: 'evaluate',
            reason: 'evaluate',
            sequence: null,
            blocks: evaluator.notifiedBlocks(told),
            body,
            problem: null,
            backfillId: null,
          },
          clock.now(),
        );
        evaluator.countQueued();
        evaluator.touch(record.id, 'evaluate');
      }, 'synced');
    },

    secret: secretShown,
    rotateSecret(consumer: string) {
      write(() => secrets.set(consumer, newSecret(), clock.now()), 'synced');
      return secretShown(consumer);
    },
    removeSecret(consumer: string): void {
      write(() => secrets.remove(consumer), 'synced');
    },
  };
}
export type Management = ReturnType<typeof management>;
