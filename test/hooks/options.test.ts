/** Each option of a hook: its additions to a payload, and no other changes. */
import { describe, expect, test } from 'bun:test';
import type { Block, ChainTransaction } from '../../src/chain/block.ts';
import { networkOf } from '../../src/chain/network.ts';
import { blockOf } from '../../src/chain/normalise.ts';
import { readPayload } from '../../src/chain/payload-reader.ts';
import type { AbiFunction } from '../../src/codec/abi.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import type { Payload } from '../../src/codec/transaction.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { Options } from '../../src/hooks/definition/definition.ts';
import { payloadText, payloadTexts } from '../../src/hooks/evaluation/payload.ts';
import { ownTransactions } from '../../src/hooks/matching/matching.ts';
import type { HookOptions } from '../../src/testing/types.ts';
import { typeErrors } from '../client/type-check.ts';
import { alice, block, bob, carol, inMicroblock, receipt, transfer } from '../support/events/handmade.ts';
import { payloadMistake } from './schemas.ts';

const network = networkOf(0x8000_0000);
const blocks: Block[] = [...devnetEvents({ seed: 4, blocks: 24, accounts: 12, transactionsPerBlock: 12, forkEvery: 0 })]
  .filter(({ path }) => path === '/new_block')
  .map(({ path, body }) => readPayload(path, body))
  .map((payload) => (payload.kind === 'block' ? blockOf(payload.block, network) : null))
  .filter((block) => block !== null && block.height > 0) as Block[];

// biome-ignore lint/suspicious/noExplicitAny: payloads are looked into
type Json = any;

/** The payload of whole blocks. */
const payload = (options: Options, applied = blocks, declared?: AbiFunction): Json => {
  const findFunction = () => declared;
  const apply = applied.map((block) => ({
    block,
    txIndexes: ownTransactions(block).map((_, index) => index),
    findFunction,
  }));
  return JSON.parse(payloadText({ uuid: 'u', name: 'n', options }, network, { apply, rollback: [] }));
};

/** The first block with a transaction of a type, and this transaction. */
function firstOf<T extends Payload['type']>(type: T) {
  for (const block of blocks) {
    const base = block.transactions.find((item) => item.payload.type === type);
    if (base !== undefined)
      return { block, base: base as ChainTransaction & { payload: Extract<Payload, { type: T }> } };
  }
  throw new Error(`no ${type}`);
}

/** Returns the paths at which two values differ, with the type of an operation in place of numbers. */
function differences(before: Json, after: Json, path = ''): string[] {
  if (Bun.deepEquals(before, after)) return [];
  const both = [before, after].every((value) => typeof value === 'object' && value !== null && !Array.isArray(value));
  if (both) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => differences(before[key], after[key], `${path}.${key}`));
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, index) =>
      differences(item, after[index], item?.type === undefined ? path : `${path}[${item.type}]`),
    );
  }
  const kind = (value: Json) => (value === undefined ? 'absent' : Array.isArray(value) ? 'array' : typeof value);
  return [`${path}: ${kind(before)} to ${after === null ? 'null' : kind(after)}`];
}

const plain = payload({});
const TX = '.event.apply.transactions.metadata';
const OPERATIONS = '.event.apply.transactions.operations';
const BLOCK = '.event.apply.metadata: absent to object';

/** For each option, the paths where a payload with only that option differs from a payload without options. */
const effects: Record<keyof Options, readonly string[]> = {
  decode_clarity_values: [
    `${TX}.result: string to object`,
    `${OPERATIONS}[contract_log].metadata.value: string to object`,
    `${OPERATIONS}[contract_call].metadata.args: string to array`,
    `${OPERATIONS}[token_transfer].metadata.memo: string to string`,
    `${OPERATIONS}[token_transfer].metadata.memo_hex: absent to string`,
  ],
  include_contract_abi: [`${OPERATIONS}[contract_deploy].metadata.abi: absent to string`],
  include_contract_source_code: [`${OPERATIONS}[contract_deploy].metadata.source_code: absent to string`],
  include_post_conditions: [`${TX}.post_conditions: absent to object`],
  include_raw_transactions: [`${TX}.raw_tx: absent to string`],
  include_block_metadata: [BLOCK],
  include_block_signatures: [BLOCK],
  enable_on_registration: [],
  expire_after_evaluations: [],
  expire_after_occurrences: [],
  alert_url: [],
};

describe('each option changes only the documented part of the payload', () => {
  test('all eleven options are tested', () => {
    expect(Object.keys(effects).sort()).toEqual(Object.keys(Options.properties).sort());
    expect(Object.keys(effects)).toHaveLength(11);
  });
  for (const [name, expected] of Object.entries(effects)) {
    test(name, () => {
      const value = name.startsWith('expire') ? 3 : name === 'alert_url' ? 'https://127.0.0.1/' : true;
      const changed = payload({ [name]: value });
      const paths = [...new Set(differences(plain, changed))].sort();
      // A memo of zeros is shown as an empty text.
      expect(paths.filter((path) => !path.endsWith('.memo: string to null'))).toEqual([...expected].sort());
      for (const none of [null, name.startsWith('expire') ? 0 : false]) {
        expect(differences(plain, payload({ [name]: none }))).toEqual([]);
      }
      expect(payloadMistake(changed)).toBeNull();
    });
  }
});

test('without options, blocks lack metadata and values are hex', () => {
  const [block] = plain.event.apply;
  expect(Object.keys(block)).toEqual(['block_identifier', 'parent_block_identifier', 'timestamp', 'transactions']);
  for (const { metadata, operations } of plain.event.apply.flatMap(({ transactions }: Json) => transactions)) {
    expect(metadata.result).toMatch(/^0x/);
    for (const [index, operation] of operations.entries()) {
      expect(operation.operation_identifier).toEqual({ index });
      expect(operation.status).toBe(metadata.status);
    }
  }
  expect(payloadMistake(plain)).toBeNull();
});

test('either block option adds the whole block metadata, and only one adds signatures', () => {
  const metadataOf = (options: Options) => payload(options).event.apply.at(-1).metadata;
  const { signatures, ...rest } = metadataOf({ include_block_signatures: true });
  expect(rest).toEqual(metadataOf({ include_block_metadata: true }));
  expect(signatures.signer_bitvec).toMatch(/^[01]+$/);
  expect(signatures.signer_signatures[0]).toMatch(/^0x[0-9a-f]{130}$/);
  expect(metadataOf({ include_block_metadata: true, include_block_signatures: true })).toEqual({ ...rest, signatures });
  const block = blocks.at(-1)!;
  expect(rest).toMatchObject({
    canonical: true,
    burn_block_timestamp: block.burnBlockTime,
    tx_count: block.transactions.length,
    tx_total_size: block.transactions.reduce((sum, { raw }) => sum + raw.length, 0),
  });
});

describe('decoding', () => {
  const parsed = (declared: AbiFunction | undefined): Json => {
    const { block, base } = firstOf('contract_call');
    const functionArgs = new Uint8Array([0, 0, 0, 1, ...clarity.uint(5n)]);
    const { contractId } = base.payload;
    const log = { kind: 'contract_log' as const, contractId, topic: 'print', value: clarity.none() };
    const call = { ...base, payload: { ...base.payload, functionArgs }, result: clarity.bool(true), events: [log] };
    const decoded = payload({ decode_clarity_values: true }, [{ ...block, transactions: [call] }], declared);
    return decoded.event.apply[0].transactions[0];
  };

  test('arguments have the names and types of the declaration', () => {
    const transaction = parsed({ name: 'f', access: 'public', args: [{ name: 'amount', type: 'uint128' }] });
    expect(transaction.operations[1].metadata.args).toEqual([
      { hex: '0x0100000000000000000000000000000005', repr: 'u5', name: 'amount', type: 'uint' },
    ]);
    expect(transaction.metadata.result).toEqual({ hex: '0x03', repr: 'true', type: 'bool' });
    const none = { hex: '0x09', repr: 'none', type: '(optional UnknownType)' };
    expect(transaction.operations[2].metadata.value).toEqual(none);
  });

  test('a memo is decoded in addition to its bytes, in the published schema', () => {
    const { block, base } = firstOf('coinbase');
    const memos = (bytes: number[]): Json[] => {
      const memo = new Uint8Array(bytes);
      const parties = { sender: base.sender.address, recipient: base.sender.address };
      const moved = { kind: 'stx' as const, action: 'transfer' as const, ...parties, amount: '1', memo };
      const sent = { type: 'token_transfer' as const, typeId: 0 as const, recipient: base.sender.address, amount: 1n };
      const transactions = [
        { ...base, events: [moved] },
        { ...base, payload: { ...sent, memo }, events: [] },
      ];
      const message = payload({ decode_clarity_values: true }, [{ ...block, transactions }]);
      expect(payloadMistake(message)).toBeNull();
      return message.event.apply[0].transactions
        .flatMap(({ operations }: Json) => operations)
        .filter(({ type }: Json) => type === 'token_transfer')
        .map(({ metadata }: Json) => metadata);
    };
    const four = <T>(item: T) => [item, item, item, item];
    expect(memos([0x68, 0x69, 0, 0])).toEqual(four({ memo: 'hi', memo_hex: '0x68690000' }));
    expect(memos([0, 0])).toEqual(four({ memo: null, memo_hex: '0x0000' }));
    // Otherwise, bytes that aren't text would be lost.
    expect(memos([0xff, 0xfe])).toEqual(four({ memo: '\ufffd\ufffd', memo_hex: '0xfffe' }));
  });

  test('a call of an unknown function has the types of its values', () => {
    expect(parsed(undefined).operations[1].metadata.args).toEqual([
      { hex: '0x0100000000000000000000000000000005', repr: 'u5', name: '', type: 'uint' },
    ]);
  });
});

describe('operations', () => {
  test('a burn is negative for the owner, and a fee of zero is written without a sign', () => {
    const operations = plain.event.apply
      .flatMap(({ transactions }: Json) => transactions)
      .flatMap(({ operations }: Json) => operations);
    const burns = operations.filter(({ type }: Json) => type === 'token_burn');
    expect(burns.length).toBeGreaterThan(0);
    for (const { amount } of burns) expect(amount.value).toMatch(/^-[1-9]/);
    for (const { amount } of operations.filter(({ type }: Json) => type === 'fee'))
      expect(amount.value).toMatch(/^(0|-[1-9]\d*)$/);
    expect(new Set(operations.map(({ type }: Json) => type)).size).toBeGreaterThan(8);
  });

  test('a failed transfer shows only its fee, and a successful one shows its event once', () => {
    const { block, base } = firstOf('token_transfer');
    const types = (change: object) =>
      payload({}, [{ ...block, transactions: [{ ...base, ...change }] }]).event.apply[0].transactions[0].operations.map(
        ({ type }: Json) => type,
      );
    const whole = ['fee', 'token_transfer', 'token_transfer'];
    expect(types({})).toEqual(whole);
    expect(types({ status: 'problematic_skipped', events: [] })).toEqual(['fee']);
    expect(types({ status: 'abort_by_post_condition', events: [] })).toEqual(whole);
  });
});

/** Compiles only if two types accept the same values. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
const optionsAreTyped: Same<HookOptions, Options> = true;

test('the types of stackside/test match the options and payloads', () => {
  expect(optionsAreTyped).toBe(true);
  const imports = [
    "import type { DecodedValue, HookPayload } from './src/testing/types';",
    'type Decoded = HookPayload<DecodedValue>;',
  ].join('\n');
  const allOptions = Object.fromEntries(Object.keys(effects).map((name) => [name, true])) as Options;
  const kinds = new Set<string>();
  /** Removes transactions that only repeat the operations of earlier ones. */
  const fewer = ({ chainhook, event }: Json): Json => {
    const apply = event.apply.map((block: Json) => {
      const transactions = block.transactions.filter(({ operations, metadata: { type, status } }: Json) => {
        const kind = `${type} ${status} ${operations.map((operation: Json) => [operation.type, Object.keys(operation)]).join()}`;
        const isNew = !kinds.has(kind);
        kinds.add(kind);
        return isNew;
      });
      return { ...block, transactions };
    });
    return { chainhook, event: { ...event, apply } };
  };
  const decoded = { type: 'HookPayload<DecodedValue>', body: fewer(payload(allOptions)) };
  for (const type of ['stx_lock', 'contract_log', 'token_burn', 'coinbase', 'tenure_change', 'contract_deploy']) {
    expect([...kinds].some((kind) => kind.includes(type))).toBe(true);
  }
  kinds.clear();
  const hex = { type: 'HookPayload<string>', body: fewer(plain) };
  // The types are so strict that neither accepts a payload of the other.
  const errors = typeErrors(imports, [decoded, hex, { ...hex, type: 'HookPayload' }, { ...hex, type: 'Decoded' }]);
  expect(errors.filter((error) => !error.startsWith('Decoded: '))).toEqual([]);
  expect(errors).not.toEqual([]);
});

test("hooks with equal matches share their payload text, which equals a single hook's text", () => {
  const findFunction = () => undefined;
  const [block, other] = blocks.filter((item) => ownTransactions(item).length > 2);
  if (block === undefined || other === undefined) throw new Error('the chain has no long blocks');
  const matched = (txIndexes: number[]) => ({ block, txIndexes, findFunction });
  const rolledBack = { block: other, txIndexes: [0], findFunction };
  const texts = payloadTexts(network);
  const sharedOf = (uuid: string, options: Options, txIndexes: number[], rollback = [rolledBack]) => {
    const hook = { uuid, name: `"${uuid}"`, options };
    const parts = texts(hook, { apply: [matched(txIndexes)], rollback });
    const alone = payloadText(hook, network, { apply: [matched(txIndexes)], rollback });
    expect(`${parts.own}${new TextDecoder().decode(parts.shared)}`).toBe(alone);
    expect(JSON.stringify(JSON.parse(alone))).toBe(alone);
    return parts.shared;
  };
  const first = sharedOf('a', {}, [0, 2]);
  expect(sharedOf('b', {}, [0, 2])).toBe(first);
  for (const different of [
    sharedOf('c', {}, [0]),
    sharedOf('d', {}, [0, 2], []),
    sharedOf('e', { decode_clarity_values: true }, [0, 2]),
    sharedOf('f', { include_block_metadata: true }, [0, 2]),
  ]) {
    expect(different).not.toEqual(first);
  }
});

test('the transactions of a block that confirms microblocks are in the order of their tx_index', () => {
  const microblock = inMicroblock({ label: 'one', after: null, sequence: 0, transactions: [] });
  const [anchored, next, confirmed] = [transfer(alice, 0, 300), transfer(bob, 0, 200), transfer(carol, 0, 100)];
  const receipts = [receipt(anchored, 0), receipt(next, 1), receipt(confirmed, 2, microblock)];
  const read = readPayload('/new_block', block(null, 'one', receipts).event.text);
  if (read.kind !== 'block') throw new Error('a block is a block');
  const confirming = blockOf(read.block, network);
  const { apply } = payload({}, [confirming]).event;
  const places = apply[0].transactions.map((transaction: Json) => [
    transaction.transaction_identifier.hash,
    transaction.metadata.position.index,
  ]);
  expect(places).toEqual([
    [anchored.id, 0],
    [next.id, 1],
    [confirmed.id, 2],
  ]);
});
