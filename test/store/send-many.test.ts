/** The send-many contract of an index: its prints are memos, from the first block on and until a rebuild. */
import { expect, test } from 'bun:test';
import { OperatorError } from '../../src/base/errors.ts';
import { SEND_MANY, type SendManySetting } from '../../src/chain/memo-transfers.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { rebuildIndex } from '../../src/store/ingest/rebuild.ts';
import { openApi } from '../support/api/api.ts';
import { ingestOf, openAt } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import { alice, block, bob, carol, deployment, type MadeBlock, receipt } from '../support/events/handmade.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';

const OURS = `${alice.address}.send-many-memo`;
const USUAL: SendManySetting = { mainnet: null, testnet: null };
const SET: SendManySetting = { mainnet: null, testnet: OURS };
/** Other than {@link OURS}, and of the chain's network. */
const OTHER: SendManySetting = { mainnet: null, testnet: `${bob.address}.send-many-memo` };

/** Two buffers of one byte as Clarity values: what each contract prints. */
const [OUR_MEMO, USUAL_MEMO] = ['0x0200000001aa', '0x0200000001bb'];

/** A block in which bob gets two transfers, each with a print of one of the contracts after it. */
function paying(parent: MadeBlock | null, label: string, nonce: number): MadeBlock {
  const paid = deployment(alice, nonce, 300, `pay-${label}`);
  const of = (event_index: number, type: string, fields: object) => ({
    ...{ txid: paid.id, event_index, committed: true, type },
    [type]: fields,
  });
  const transfer = (event_index: number, amount: string) =>
    of(event_index, 'stx_transfer_event', { sender: carol.address, recipient: bob.address, amount });
  const print = (event_index: number, contract_identifier: string, raw_value: string) =>
    of(event_index, 'contract_event', { contract_identifier, topic: 'print', raw_value });
  const events = [
    ...[transfer(0, '1'), print(1, OURS, OUR_MEMO)],
    ...[transfer(2, '2'), print(3, SEND_MANY.testnet, USUAL_MEMO)],
  ];
  return block(parent, label, [receipt(paid, 0)], { events });
}

const one = paying(null, 'one', 0);
const two = paying(one, 'two', 1);
const fork = block(one, 'fork');
const longer = paying(fork, 'longer', 1);
const events = [one, two, fork, longer, paying(longer, 'longest', 2)].map(({ event }) => event);

const inbound = [
  `/extended/v1/address/${bob.address}/stx_inbound`,
  `/extended/v3/principals/${bob.address}/transfers/stx/inbound`,
] as const;

/** Totals, memos by amount, and tags of both lists. */
async function answers(directory: string) {
  using api = openApi(directory);
  const [v1, v3] = await Promise.all(inbound.map((path) => api.get(path)));
  const old = (await v1!.json()) as { total: number; results: { amount: string; memo: string }[] };
  const present = (await v3!.json()) as { results: { amount: string; memo: { hex: string } | null }[] };
  return {
    total: old.total,
    bulk: [...new Set(old.results.map(({ amount, memo }) => `${amount} ${memo}`))],
    memos: [...new Set(present.results.map(({ amount, memo }) => `${amount} ${memo?.hex ?? 'none'}`))],
    tags: [v1, v3].map((answer) => answer!.headers.get('etag')),
  };
}

const withUsual = { total: 3, bulk: [`2 ${USUAL_MEMO}`], memos: ['2 0xbb', '1 none'] };
const withOurs = { total: 3, bulk: [`1 ${OUR_MEMO}`], memos: ['2 none', '1 0xaa'] };

const rebuild = (directory: string, sendMany: SendManySetting) =>
  rebuildIndex({ directory, chainId: null, machine: silentMachine, sendMany, log: () => {}, force: false });

const problems = (directory: string): string[] =>
  checkAndRecount(directory, { deep: silentMachine }).flatMap((result) => result.problems);

function refusal(directory: string, sendMany: SendManySetting): OperatorError {
  try {
    openAt(directory, { sendMany }).ingest.close();
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  }
  throw new Error('the index took the contract');
}

test('the prints of the contract that an index was made with are memos, through forks, restarts and rebuilds', async () => {
  using usual = ingestOf(events);
  expect(await answers(usual.path)).toMatchObject(withUsual);
  using directory = ingestOf(events.slice(0, 3), { sendMany: SET });
  // What no setting names is as the index was made with.
  for (const options of [{}, { sendMany: USUAL }]) openAt(directory.path, options).ingest.close();
  {
    using open = openAt(directory.path);
    for (const event of events.slice(3)) open.ingest.receive(event);
  }
  expect(await answers(directory.path)).toMatchObject(withOurs);
  expect(problems(directory.path)).toEqual([]);
  const before = everything(directory.path);
  rebuild(directory.path, USUAL);
  expect(everything(directory.path)).toEqual(before);
});

test('an index with blocks refuses another contract, and a rebuild accepts it, with tags of its own', async () => {
  using directory = ingestOf(events);
  const before = await answers(directory.path);
  const error = refusal(directory.path, SET);
  expect(error.message).toBe(
    `The index in ${directory.path} was made with the send-many contract ${SEND_MANY.testnet}, but the setting names ${OURS}.`,
  );
  expect(error.remedy).toBe(
    'Remove the setting of the send-many contract of testnet, or run stackside rebuild with the setting.',
  );
  rebuild(directory.path, SET);
  const after = await answers(directory.path);
  expect(after).toMatchObject(withOurs);
  for (const [at, tag] of after.tags.entries()) expect(tag).not.toBe(before.tags[at]!);
  expect(problems(directory.path)).toEqual([]);
  openAt(directory.path, { sendMany: SET }).ingest.close();
  expect(refusal(directory.path, OTHER).message).toContain(`made with the send-many contract ${OURS}`);
  rebuild(directory.path, SEND_MANY);
  expect(await answers(directory.path)).toEqual(before);
});

test('an index without blocks accepts any contract, and one with blocks has none of another network', async () => {
  using directory = ingestOf([]);
  for (const sendMany of [OTHER, SET]) openAt(directory.path, { sendMany }).ingest.close();
  {
    using open = openAt(directory.path);
    for (const event of events) open.ingest.receive(event);
  }
  expect(await answers(directory.path)).toMatchObject(withOurs);
  openAt(directory.path, { sendMany: { mainnet: `${alice.address}.other`, testnet: OURS } }).ingest.close();
});
