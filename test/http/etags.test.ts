/** What the ETag of each kind depends on. `faults/cached-responses.test.ts` tests that an ETag belongs to one answer. */

import { expect, test } from 'bun:test';
import type { ETagKind } from '../../src/http/etag.ts';
import * as tags from '../../src/http/etag.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openApi } from '../support/api/api.ts';
import { emptyDirectory, openAt, openNew } from '../support/data/ingest.ts';
import { rebuild } from '../support/data/rebuild.ts';
import {
  alice,
  announcement,
  block,
  bob,
  call,
  carol,
  deployment,
  receipt,
  START,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { addOldNames } from '../support/events/old-names.ts';

const LIST = '/extended/v3/transactions';
const MEMPOOL = '/extended/v3/mempool/transactions';

/** Response to a client that sends the ETag of an earlier answer. */
async function askAgain(directory: string, path: string, tag: string | null) {
  using api = openApi(directory);
  const response = await api.get(path, { 'if-none-match': tag ?? '' });
  return { status: response.status, tag: response.headers.get('etag'), body: await response.text() };
}

test('an orphaned block that arrives without a new tip changes only the ETags of the answers it affects', async () => {
  using open = openNew();
  const first = block(null, 'one');
  const failed = call(bob, 0, 200, `${carol.address}.vault`, 'join');
  const second = block(first, 'two', [
    receipt(deployment(alice, 0, 500), 0),
    receipt(failed, 1, { status: 'abort_by_response' }),
  ]);
  const tip = block(block(second, 'three'), 'four');
  const [left, right] = [transfer(alice, 7, 300), transfer(bob, 8, 300)];
  const onBurn = { burn_block_height: 999 };
  const orphan = block(first, 'orphan', [left], onBurn);
  const join = { name: 'join', access: 'public', args: [], outputs: { type: 'bool' } };
  const withInterface = (deployed: Transaction, index: number) =>
    receipt(deployed, index, {
      contract_interface: { functions: [join], variables: [], maps: [], fungible_tokens: [], non_fungible_tokens: [] },
    });
  const deployments = [
    withInterface(deployment(alice, 0, 500), 0),
    withInterface(deployment(carol, 0, 500, 'vault'), 2),
  ];
  const higher = block(orphan, 'higher', [receipt(right, 1), ...deployments], onBurn);
  for (const { event } of [first, second, block(second, 'three'), tip, orphan]) open.ingest.receive(event);
  const waiting = call(bob, 1, 200, `${carol.address}.vault`, 'join');
  open.ingest.receive(announcement([waiting]));

  const changed = [
    ...['/extended/v1/block/by_burn_block_height/999', `/extended/v1/contract/${alice.address}.pool`],
    ...[`/extended/v1/tx/multiple?tx_id=${left.id},${right.id}`, `/extended/v1/tx/${failed.id}`],
    ...[`/extended/v1/address/${bob.address}/${failed.id}/with_transfers`, '/extended/v2/blocks/2/transactions'],
    ...['/extended/v1/tx', `/extended/v1/address/${bob.address}/transactions`, `/extended/v1/tx/${waiting.id}`],
    ...['/extended/v1/tx/mempool', `/extended/v1/address/${bob.address}/mempool`],
  ];
  const unchanged = [LIST, MEMPOOL, '/extended/v2/blocks'];
  const before = new Map<string, Awaited<ReturnType<typeof askAgain>>>();
  for (const path of [...changed, ...unchanged]) {
    before.set(path, await askAgain(open.directory, path, null));
    expect({ path, ...before.get(path) }).toMatchObject({ path, status: 200, tag: expect.any(String) });
  }
  using living = openApi(open.directory);
  // Computed, cached, and read from the cache.
  for (const path of changed) for (let times = 0; times < 3; times++) await living.get(path);

  open.ingest.receive(higher.event);
  for (const path of changed) {
    const after = await askAgain(open.directory, path, before.get(path)?.tag ?? null);
    expect({ path, status: after.status }).toEqual({ path, status: 200 });
    expect(after.body).not.toBe(before.get(path)!.body);
    expect(await (await living.get(path)).text()).toBe(after.body);
  }
  for (const path of unchanged) expect((await askAgain(open.directory, path, before.get(path)!.tag)).status).toBe(304);
});

test('two states of the mempool never share an ETag, even after a rebuild or in another index', async () => {
  using directory = emptyDirectory();
  const first = block(null, 'one');
  const tags: (string | null)[] = [];
  const tagNow = async (path = directory.path) => tags.push((await askAgain(path, MEMPOOL, null)).tag);
  {
    using open = openAt(directory.path);
    open.ingest.receive(first.event);
    await tagNow();
    open.ingest.receive(announcement([transfer(alice, 0, 200)], START + 61));
    await tagNow();
  }
  rebuild(directory.path);
  const unchanged = (await askAgain(directory.path, MEMPOOL, null)).tag;
  expect(unchanged).toBe(tags.at(-1) ?? null);
  {
    using open = openAt(directory.path);
    open.ingest.receive(announcement([transfer(alice, 1, 200)], START + 62));
    await tagNow();
    // The clock stands still, then is set back.
    for (const [nonce, time] of [
      [2, START + 62],
      [3, START],
    ] as const) {
      open.ingest.receive(announcement([transfer(alice, nonce, 200)], time));
      await tagNow();
    }
  }
  // The same tip, after the same number of changes of the mempool.
  using other = openNew();
  other.ingest.receive(first.event);
  other.ingest.receive(announcement([transfer(bob, 0, 200)], START + 70));
  await tagNow(other.directory);
  other.ingest.receive(announcement([transfer(bob, 1, 200)], START + 71));
  await tagNow(other.directory);
  expect(new Set(tags).size).toBe(tags.length);
});

test('imported old names change the ETags of names', async () => {
  using directory = emptyDirectory();
  {
    using open = openAt(directory.path);
    open.ingest.receive(block(null, 'one').event);
  }
  const { tag } = await askAgain(directory.path, '/v1/names', null);
  await addOldNames(directory.path, async function* () {
    yield { kind: 'name', name: 'alice.id', owner: alice.address, zonefileHash: new Uint8Array(20) };
  });
  expect((await askAgain(directory.path, '/v1/names', tag)).status).toBe(200);
});

/** The data that answers may depend on; 0 and an empty text mean none. */
const STATE = {
  tip: 1,
  burnHeight: 100,
  newestArrival: 2,
  attachments: 3,
  newestBurnBlock: 4,
  mempool: 5,
  blockOfTransaction: 6,
  statusOfTransaction: 'success',
  block: 7,
  blockAt: 8,
  tokens: 9,
  completions: 10,
};
type State = typeof STATE;
type Part = keyof State;

const hashOf = (byte: number): Uint8Array | undefined => (byte === 0 ? undefined : new Uint8Array(32).fill(byte));

function readerOf(state: State): Reader {
  const { burnHeight: burnBlockHeight, completions } = state;
  const tip = state.tip === 0 ? null : { indexBlockHash: hashOf(state.tip), burnBlockHeight, completions };
  const mined = { indexBlockHash: hashOf(state.blockOfTransaction) ?? null, status: state.statusOfTransaction };
  return {
    chain: { tip: () => tip, newestArrival: () => hashOf(state.newestArrival), blockHash: () => hashOf(state.block) },
    names: { version: () => state.attachments },
    burnRewards: { newestHash: () => hashOf(state.newestBurnBlock) ?? null },
    mempool: { version: () => state.mempool },
    tokenMetadata: { version: () => state.tokens },
    transactions: { state: () => (state.statusOfTransaction === '' ? undefined : mined) },
    blocks: { at: () => (state.blockAt === 0 ? undefined : { indexHash: hashOf(state.blockAt) }) },
  } as unknown as Reader;
}

const { tagOf: _, namesTag: __, ...kinds } = tags;
type Kind = keyof typeof kinds;

interface Depends {
  tag: Kind;
  state?: Partial<State>;
  /** The parts that change the ETag. */
  on: readonly Part[];
  /** Without any of these parts the ETag is null. */
  needs: readonly Part[];
}
const TIP = ['tip', 'completions'] as const;
const ofTip = (tag: Kind, ...on: Part[]): Depends => ({ tag, on: [...TIP, ...on], needs: ['tip'] });
const DEPENDS: readonly Depends[] = [
  ofTip('chainTip'),
  ofTip('chainAndBurnTip', 'burnHeight'),
  ofTip('anyFork', 'newestArrival'),
  ofTip('chainTipAndAttachments', 'attachments'),
  ofTip('chainAndBurnBlock', 'newestBurnBlock'),
  ofTip('mempool', 'mempool'),
  ofTip('mempoolAndAnyFork', 'newestArrival', 'mempool'),
  ofTip('principal', 'burnHeight'),
  ofTip('principalAndAnyFork', 'burnHeight', 'newestArrival'),
  ofTip('principalAndMempool', 'burnHeight', 'mempool'),
  {
    tag: 'transaction',
    on: ['blockOfTransaction', 'statusOfTransaction', 'completions'],
    needs: ['statusOfTransaction'],
  },
  {
    tag: 'transaction',
    state: { blockOfTransaction: 0, statusOfTransaction: 'pending' },
    on: ['blockOfTransaction', 'statusOfTransaction', 'mempool'],
    needs: ['statusOfTransaction', 'tip'],
  },
  { tag: 'chainTipAndTokens', on: [...TIP, 'tokens'], needs: [] },
  {
    tag: 'typedTransaction',
    state: { statusOfTransaction: 'abort_by_response' },
    on: [...TIP, 'newestArrival', 'blockOfTransaction', 'statusOfTransaction'],
    needs: ['statusOfTransaction'],
  },
  { tag: 'block', on: ['block', 'completions'], needs: ['block'] },
  { tag: 'blockAndAnyFork', on: [...TIP, 'newestArrival', 'block'], needs: ['block'] },
  { tag: 'blockAt', on: ['blockAt', 'completions'], needs: ['blockAt'] },
];

test.each(DEPENDS)('the ETag $tag changes with $on, and with nothing else', async ({ tag, state: base, on, needs }) => {
  const kind = kinds[tag] as ETagKind<object>;
  const tagOf = (change: object) => kind(readerOf({ ...STATE, ...base, ...change }), {});
  const first = tagOf({});
  expect(first).toEqual(expect.any(String));
  expect(tagOf({})).toBe(first);
  const [changing, needed]: [Part[], Part[]] = [[], []];
  for (const [part, value] of Object.entries({ ...STATE, ...base }) as [Part, number | string][]) {
    const [other, nothing] = typeof value === 'number' ? [value + 90, 0] : ['another', ''];
    if (tagOf({ [part]: other }) !== first) changing.push(part);
    if (tagOf({ [part]: nothing }) === null) needed.push(part);
  }
  expect(changing.sort()).toEqual([...on].sort());
  expect(needed.sort()).toEqual([...needs].sort());
});

test('the test lists the dependencies of every ETag', () => {
  expect(Object.keys(kinds).sort()).toEqual([...new Set(DEPENDS.map(({ tag }) => tag))].sort());
});
