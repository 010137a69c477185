/** Matches of each filter: all parameters, a mismatch of each, and the index of filters compared to a plain implementation. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Block, ChainEvent, ChainTransaction } from '../../src/chain/block.ts';
import { involvementsOf } from '../../src/chain/involvements.ts';
import { SEND_MANY } from '../../src/chain/memo-transfers.ts';
import { networkOf } from '../../src/chain/network.ts';
import { blockOf } from '../../src/chain/normalise.ts';
import { readPayload } from '../../src/chain/payload-reader.ts';
import { BOOT_ADDRESS } from '../../src/codec/address.ts';
import { clarity, encodeArguments } from '../../src/codec/clarity-encode.ts';
import { clarityRepr } from '../../src/codec/clarity-text.ts';
import { toHex } from '../../src/codec/hex.ts';
import { utf8Bytes } from '../../src/codec/utf8.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { parseFilters } from '../../src/hooks/definition/definition.ts';
import {
  type Filter,
  type FilterOf,
  type FilterType,
  filterSchemas,
} from '../../src/hooks/definition/filter-schemas.ts';
import { operationsOf } from '../../src/hooks/evaluation/operations.ts';
import { payloadText } from '../../src/hooks/evaluation/payload.ts';
import { indexKeysOf, Matcher, ownTransactions, toConditions } from '../../src/hooks/matching/matching.ts';
import type { IndexKey } from '../../src/store/hooks/candidates.ts';
import { chainhooksPage, filterTypes, filterTypesFile, pageWithFilters } from '../support/generate/filter-types.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { sampleBlock } from './sample-block.ts';
import { payloadMistake } from './schemas.ts';

const network = networkOf(0x8000_0000);
const A = 'ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQVX8X0G';
const B = 'ST1WNJTS9JM1JYGK758B10DBAMBZ0K23ADP392SBV';
/** An address with a right checksum. */
const WHO = BOOT_ADDRESS.testnet;
const HI = utf8Bytes('hi');
const TOKEN = `${A}.token`;
const ASSET = `${TOKEN}::coin!`;

test('the types and docs list the current filters (bun run generate writes them)', async () => {
  expect(await Bun.file(filterTypesFile).text()).toBe(await filterTypes());
  expect(await Bun.file(chainhooksPage).text()).toBe(await pageWithFilters());
});

/** Every filter with all its parameters. */
const full: { [T in FilterType]: Extract<Filter, { type: T }> } = {
  balance_change: { type: 'balance_change', principal: A },
  stx_event: { type: 'stx_event' },
  stx_transfer: {
    type: 'stx_transfer',
    sender: A,
    receiver: B,
    min_amount: '5',
    memo: { equals: 'order 7', contains: 'der' },
  },
  stx_mint: { type: 'stx_mint', receiver: B, min_amount: '5' },
  stx_burn: { type: 'stx_burn', sender: A, min_amount: '5' },
  ft_event: { type: 'ft_event', asset_identifier: ASSET },
  ft_transfer: { type: 'ft_transfer', asset_identifier: ASSET, sender: A, receiver: B, min_amount: '5' },
  ft_mint: { type: 'ft_mint', asset_identifier: ASSET, receiver: B, min_amount: '5' },
  ft_burn: { type: 'ft_burn', asset_identifier: ASSET, sender: A, min_amount: '5' },
  nft_event: { type: 'nft_event', asset_identifier: ASSET, value: 'u7' },
  nft_transfer: { type: 'nft_transfer', asset_identifier: ASSET, value: 7, sender: A, receiver: B },
  nft_mint: { type: 'nft_mint', asset_identifier: ASSET, value: '7', receiver: B },
  nft_burn: { type: 'nft_burn', asset_identifier: ASSET, value: '-7', sender: A },
  contract_deploy: { type: 'contract_deploy', contract_identifier: TOKEN, sender: A, status: ['success'] },
  contract_call: {
    type: 'contract_call',
    contract_identifier: TOKEN,
    function_name: 'move',
    argument: { index: 1, equals: 'u7' },
    sender: B,
    status: ['success'],
  },
  contract_log: { type: 'contract_log', contract_identifier: TOKEN, sender: B, topic: 'print', contains: 'hello' },
  coinbase: { type: 'coinbase' },
  tenure_change: { type: 'tenure_change', cause: 'block_found' },
};

/** Another value of a parameter, that the sample of the filter doesn't have. */
const otherValues: Readonly<Record<string, unknown>> = {
  principal: B,
  sender: `${B}.elsewhere`,
  receiver: `${A}.elsewhere`,
  min_amount: '6',
  memo: { contains: 'other' },
  argument: { index: 0, equals: 'u7' },
  asset_identifier: `${TOKEN}::other`,
  value: '8',
  contract_identifier: `${A}.other`,
  function_name: 'stay',
  topic: 'other',
  contains: 'goodbye',
  status: ['abort_by_response'],
  cause: 'extended',
};

function isRequired(type: FilterType, parameter: string): boolean {
  const required: readonly string[] = filterSchemas[type].required ?? [];
  return required.includes(parameter);
}

const matches = (filter: Filter, block: Block): boolean => {
  const matcher = new Matcher();
  matcher.set(1, toConditions(filter));
  return matcher.match(block).has(1);
};
const sample = (filter: Filter): Block => sampleBlock(filter, network, 1);

describe('every filter', () => {
  test('is in the table', () => {
    expect(Object.keys(full).sort()).toEqual(Object.keys(filterSchemas).sort());
  });
  test('may be in a definition with all its parameters', () => {
    expect(parseFilters({ events: Object.values(full) })).toEqual({ events: Object.values(full) });
  });
  for (const filter of Object.values(full)) {
    test(`${filter.type} matches a transaction that has all its parameters`, () => {
      expect(matches(filter, sample(filter))).toBe(true);
    });
    test(`the payload of a ${filter.type} match fits the payload schema`, () => {
      const matched = { block: sample(filter), txIndexes: [0], findFunction: () => undefined };
      const hook = { uuid: '00000000-0000-4000-8000-000000000000', name: filter.type, options: {} };
      expect(payloadMistake(JSON.parse(payloadText(hook, network, { apply: [matched], rollback: [] })))).toBeNull();
    });
    for (const parameter of Object.keys(filter).filter((name) => name !== 'type')) {
      const changed = { ...filter, [parameter]: otherValues[parameter] } as Filter;
      test(`${filter.type} doesn't match with another ${parameter}`, () => {
        expect(matches(changed, sample(filter))).toBe(false);
      });
      if (isRequired(filter.type, parameter)) continue;
      test(`${filter.type} without ${parameter} matches`, () => {
        const { [parameter]: _left, ...rest } = filter as Record<string, unknown>;
        expect(matches(rest as unknown as Filter, sample(filter))).toBe(true);
      });
    }
  }
});

/** Returns the principals of a kind of index key that a transaction has. */
const indexedPrincipals = (transaction: ChainTransaction, kind: IndexKey['kind']): string[] =>
  kind === 'logs'
    ? Array.from(transaction.events, (event) => (event.kind === 'contract_log' ? event.contractId : ''))
    : [...involvementsOf(transaction)].flatMap((portion) => [...portion.keys()]);

test('a block that matches has the principal that past blocks are searched by, whoever sent the transaction', () => {
  let found = 0;
  for (const { type, ...parameters } of Object.values(full)) {
    for (const [name, value] of Object.entries(parameters)) {
      const filter = { type, [name]: value } as Filter;
      const block = sample(filter);
      const [own] = block.transactions;
      const { payload } = sample(full.coinbase).transactions[0]!;
      for (const transaction of [own!, { ...own!, payload, sender: { address: WHO, nonce: 0n } }]) {
        const keys = indexKeysOf(toConditions(filter)) ?? [];
        if (keys.length === 0 || !matches(filter, { ...block, transactions: [transaction] })) continue;
        for (const { kind, principal } of keys) expect(indexedPrincipals(transaction, kind)).toContain(principal);
        found += 1;
      }
    }
  }
  expect(found).toBeGreaterThan(20);
});

/** A block with changed copies of the sample's transaction. */
function blockWith(...transactions: Partial<ChainTransaction>[]): Block {
  const block = sample(full.contract_call);
  const [base] = block.transactions;
  return { ...block, height: 9, transactions: transactions.map((tx) => ({ ...base!, events: [], ...tx })) };
}
const transfer = (sender: string, recipient: string, amount = '5'): ChainEvent => ({
  kind: 'stx',
  action: 'transfer',
  sender,
  recipient,
  amount,
  memo: null,
});

describe('the rules', () => {
  test('all parameters must match in one event', () => {
    const spread = blockWith({ events: [transfer(A, A), transfer(B, B)] });
    expect(matches({ type: 'stx_transfer', sender: A, receiver: B }, spread)).toBe(false);
    expect(matches({ type: 'stx_transfer', sender: B, receiver: B }, spread)).toBe(true);
  });

  test('several matching filters give one match per transaction, in block order', () => {
    const block = blockWith({ events: [transfer(A, B), transfer(A, B)] }, {}, { events: [transfer(B, A)] });
    const matcher = new Matcher();
    const types = ['stx_event', 'stx_transfer', 'contract_call'] as const;
    matcher.set(
      4,
      types.flatMap((type) => toConditions({ type })),
    );
    expect(matcher.match(block)).toEqual(new Map([[4, [0, 1, 2]]]));
    matcher.set(4, toConditions({ type: 'stx_event' }));
    expect(matcher.match(block)).toEqual(new Map([[4, [0, 2]]]));
    matcher.delete(4);
    expect([matcher.match(block), matcher.hooks]).toEqual([new Map(), 0]);
  });

  test('a memo, an argument and a print are decoded once for all filters', () => {
    let reads = 0;
    /** An object that counts how often its bytes are read. */
    const counted = <T extends object>(object: T, name: keyof T, bytes: Uint8Array): T =>
      Object.defineProperty({ ...object }, name, {
        get() {
          reads += 1;
          return bytes;
        },
      });
    const print = { kind: 'contract_log', contractId: TOKEN, topic: 'print' } as ChainEvent & { value: Uint8Array };
    const { payload } = sample(full.contract_call).transactions[0]!;
    const block = blockWith({
      payload: counted(payload as typeof payload & { functionArgs: Uint8Array }, 'functionArgs', encodeArguments([])),
      events: [
        counted(transfer(A, B) as ChainEvent & { memo: Uint8Array }, 'memo', HI),
        counted(print, 'value', clarity.uint(1n)),
      ],
    });
    const matcher = new Matcher();
    for (let hook = 0; hook < 4; hook++) {
      const texts = [`a${hook}`, `b${hook}`];
      const filters = texts.flatMap((contains, index): Filter[] => [
        { type: 'stx_transfer', memo: { contains } },
        { type: 'contract_log', contains },
        { type: 'contract_call', argument: { index, equals: 'u1' } },
      ]);
      matcher.set(hook, filters.flatMap(toConditions));
    }
    expect(matcher.match(block).size).toBe(0);
    expect(reads).toBe(3);
  });

  test('a failed transaction matches by its type, but not by its events', () => {
    const failed = blockWith({ status: 'abort_by_response' });
    expect(matches({ type: 'contract_call', contract_identifier: TOKEN }, failed)).toBe(true);
    expect(matches({ type: 'stx_event' }, failed)).toBe(false);
  });

  test("locks don't match STX events", () => {
    const lock: ChainEvent = { kind: 'stx_lock', address: A, amount: '5', unlockHeight: 9, contractName: 'pox-4' };
    expect(matches({ type: 'stx_event' }, blockWith({ events: [lock] }))).toBe(false);
    expect(matches({ type: 'balance_change', principal: A }, blockWith({ fee: 0n, events: [lock] }))).toBe(false);
  });

  test('balance_change matches the parties of events, and the payer of a fee above zero', () => {
    const fits = (principal: string, block: Block) => matches({ type: 'balance_change', principal }, block);
    const sponsored = blockWith({ fee: 3n, sponsor: { address: A, nonce: 0n }, status: 'abort_by_response' });
    expect([fits(A, sponsored), fits(B, sponsored)]).toEqual([true, false]);
    expect(fits(B, blockWith({ fee: 3n }))).toBe(true);
    expect(fits(B, blockWith({ fee: 0n }))).toBe(false);
    expect(fits(A, blockWith({ fee: 0n, events: [transfer(A, A)] }))).toBe(true);
  });

  test('the sender of a call or log is the origin, not the sponsor', () => {
    const sponsored = blockWith({ sponsor: { address: A, nonce: 0n } });
    expect(matches({ type: 'contract_call', sender: A }, sponsored)).toBe(false);
    expect(matches({ type: 'contract_call', sender: B }, sponsored)).toBe(true);
  });

  test('an NFT value matches as integer, u for unsigned, minus for signed, or 0x for bytes', () => {
    const holding = (value: Uint8Array) =>
      blockWith({ events: [{ kind: 'nft', action: 'mint', asset: ASSET, sender: null, recipient: B, value }] });
    const [uint, int, negative] = [holding(clarity.uint(7n)), holding(clarity.int(7n)), holding(clarity.int(-7n))];
    const fits = (value: string | number, block: Block) => matches({ type: 'nft_event', value }, block);
    expect([fits(7, uint), fits('7', int), fits('u7', uint), fits('u7', int)]).toEqual([true, true, true, false]);
    expect([fits(-7, negative), fits('-7', negative), fits(7, negative)]).toEqual([true, true, false]);
    const tuple = clarity.tuple({ name: clarity.ascii('x') });
    const hex = toHex(tuple).toUpperCase().replace('0X', '0x');
    expect([fits(hex, holding(tuple)), fits(7, holding(tuple))]).toEqual([true, false]);
  });

  test('extended matches every kind of tenure extension', () => {
    const tenureChange = (cause: string) => sample({ type: 'tenure_change', cause } as Filter);
    const extended = full.tenure_change;
    expect(matches({ ...extended, cause: 'extended' }, tenureChange('extended_runtime'))).toBe(true);
    expect(matches({ ...extended, cause: 'extended' }, tenureChange('block_found'))).toBe(false);
    expect(matches({ ...extended, cause: 'extended_runtime' }, tenureChange('extended_read_count'))).toBe(false);
    expect(matches({ type: 'tenure_change' }, tenureChange('extended_read_count'))).toBe(true);
  });

  /** A transfer with the memo in its transaction, in its event, and in the print of a send-many contract. */
  function transfersWithMemo(memo: Uint8Array): [title: string, block: Block][] {
    const padded = new Uint8Array(34);
    padded.set(memo);
    const moved = transfer(A, B) as Extract<ChainEvent, { kind: 'stx' }>;
    const payload = { type: 'token_transfer', typeId: 0, recipient: B, amount: 5n, memo: padded } as const;
    const [contractId = ''] = SEND_MANY;
    const print: ChainEvent = { kind: 'contract_log', contractId, topic: 'print', value: clarity.buffer(memo) };
    return [
      ['transaction', blockWith({ payload, events: [moved] })],
      ['event', blockWith({ events: [{ ...moved, memo }] })],
      ['print', blockWith({ events: [transfer(A, A), print, moved, print, transfer(B, B)] })],
    ];
  }

  test.each(transfersWithMemo(utf8Bytes('order 7')))('a memo of the %s matches as text and as hex', (_from, block) => {
    const fits = (memo: FilterOf<'stx_transfer'>['memo']) =>
      matches({ type: 'stx_transfer', sender: A, receiver: B, ...(memo === undefined ? {} : { memo }) }, block);
    const hex = toHex(utf8Bytes('order 7'));
    const right = [{ equals: 'order 7' }, { equals: hex }, { equals: `${hex}0000` }, { contains: 'r 7' }];
    expect(right.map(fits)).toEqual([true, true, true, true]);
    const wrong = [{ equals: 'order' }, { equals: `${hex}37` }, { contains: 'R 7' }];
    expect([...wrong, { equals: 'order 7', contains: '8' }].map(fits)).toEqual([false, false, false, false]);
  });

  test.each(transfersWithMemo(utf8Bytes('order 7')))('operations contain a memo of the %s', (_from, block) => {
    const options = { decode_clarity_values: true };
    const operations = operationsOf(block.transactions[0]!, { options, findFunction: () => undefined });
    const hex = toHex(utf8Bytes('order 7'));
    const metadata = { memo: 'order 7', memo_hex: expect.stringMatching(new RegExp(`^${hex}(00)*$`)) };
    const withMemo = operations.filter((item) => item.type === 'token_transfer' && item.metadata !== undefined);
    // The operation of the sender, and the one of the recipient.
    expect(withMemo.slice(-2)).toMatchObject([{ metadata }, { account: { address: B }, metadata }]);
  });

  test('a memo and a minimum amount must match the same transfer', () => {
    const [, [, block] = []] = transfersWithMemo(utf8Bytes('order 7'));
    const fits = (min_amount: string) => matches({ type: 'stx_transfer', min_amount, memo: { contains: '7' } }, block!);
    expect([fits('5'), fits('6')]).toEqual([true, false]);
  });

  test('the print of a send-many contract is the memo of the transfer before it only', () => {
    const [, , [, block] = []] = transfersWithMemo(utf8Bytes('order 7'));
    expect(matches({ type: 'stx_transfer', sender: B, memo: { contains: '7' } }, block!)).toBe(false);
  });

  test('an argument matches at its position as plain text, as repr, or as serialized value', () => {
    const values = [clarity.uint(7n), clarity.principal(WHO), clarity.some(clarity.utf8('hé')), clarity.buffer(HI)];
    const functionArgs = encodeArguments(values);
    const call = { type: 'contract_call', typeId: 2, contractId: TOKEN, functionName: 'move', functionArgs } as const;
    const fits = (index: number, equals: string) =>
      matches({ type: 'contract_call', argument: { index, equals } }, blockWith({ payload: call }));
    expect([fits(0, '7'), fits(0, 'u7'), fits(1, WHO), fits(1, `'${WHO}`)]).toEqual([true, true, true, true]);
    for (const [index, value] of values.entries()) {
      expect([fits(index, toHex(value)), fits(index, clarityRepr(value))]).toEqual([true, true]);
    }
    expect([fits(1, 'u7'), fits(0, 'u8'), fits(4, 'u7'), fits(2, 'hé')]).toEqual([false, false, false, false]);
  });

  test('recipient is an alias of receiver', () => {
    expect(matches({ type: 'stx_transfer', recipient: B }, blockWith({ events: [transfer(A, B)] }))).toBe(true);
    expect(matches({ type: 'stx_transfer', recipient: A }, blockWith({ events: [transfer(A, B)] }))).toBe(false);
  });

  test('block 1 is delivered without the transactions of block 0', () => {
    const genesis = { blockTime: 0, parentIndexBlockHash: new Uint8Array(32), parentBurnBlockTime: null };
    const block = { ...blockWith({ genesis }, {}), height: 1 };
    expect(ownTransactions(block)).toHaveLength(1);
  });
});

/** A plain model of the filters' rules, for one filter and one transaction. */
function plainly(filter: Filter, transaction: ChainTransaction): boolean {
  const { payload, sender, events, status, fee, sponsor } = transaction;
  const values: Record<string, unknown> = filter;
  const is = (name: string, value: unknown) => values[name] === undefined || values[name] === value;
  if (filter.type === 'coinbase' || filter.type === 'tenure_change') {
    return payload.type === filter.type && (payload.type !== 'tenure_change' || is('cause', payload.cause));
  }
  if (filter.type === 'contract_call') {
    return (
      payload.type === 'contract_call' &&
      is('contract_identifier', payload.contractId) &&
      is('function_name', payload.functionName) &&
      is('sender', sender.address) &&
      (filter.status === undefined || filter.status.some((value) => value === status))
    );
  }
  if (filter.type === 'contract_deploy') {
    const id = payload.type === 'smart_contract' ? `${sender.address}.${payload.contractName}` : null;
    return id !== null && is('contract_identifier', id) && is('sender', sender.address);
  }
  if (filter.type === 'balance_change') {
    const payer = (sponsor ?? sender).address;
    const parties = [...events].flatMap((event) => ('action' in event ? [event.sender, event.recipient] : []));
    return (fee > 0n && payer === filter.principal) || parties.includes(filter.principal);
  }
  return [...events].some((event) => {
    if (event.kind === 'contract_log') {
      return (
        filter.type === 'contract_log' &&
        is('contract_identifier', event.contractId) &&
        is('sender', sender.address) &&
        is('topic', event.topic) &&
        (filter.contains === undefined || clarityRepr(event.value).includes(filter.contains))
      );
    }
    if (!('action' in event) || filter.type === 'contract_log') return false;
    const [token, action] = filter.type.split('_');
    if (event.kind !== token || (action !== 'event' && action !== event.action)) return false;
    if (event.kind !== 'stx' && !is('asset_identifier', event.asset)) return false;
    if (event.kind === 'nft' && !is('value', toHex(event.value))) return false;
    if (action === 'event') return true;
    const minimum = BigInt((values.min_amount as string | undefined) ?? 0);
    return (
      is('sender', event.sender) &&
      is('receiver', event.recipient) &&
      ('amount' in event ? BigInt(event.amount) : 0n) >= minimum
    );
  });
}

const blocks: Block[] = [...devnetEvents({ seed: 9, blocks: 60, accounts: 10, transactionsPerBlock: 12, forkEvery: 0 })]
  .filter(({ path }) => path === '/new_block')
  .map(({ path, body }) => readPayload(path, body))
  .map((payload) => (payload.kind === 'block' ? blockOf(payload.block, network) : null))
  .filter((block) => block !== null);

/** Values that the chain has, for parameters to meet something. */
const seen: Record<string, Set<unknown>> = {};
const see = (name: string, value: unknown) => {
  seen[name] ??= new Set();
  if (value !== null && value !== undefined) seen[name].add(value);
};
for (const { payload, sender, events } of blocks.flatMap(({ transactions }) => transactions)) {
  see('sender', sender.address);
  see('principal', sender.address);
  if (payload.type === 'contract_call') {
    see('contract_identifier', payload.contractId);
    see('function_name', payload.functionName);
  }
  for (const event of events) {
    if (event.kind === 'contract_log') see('contract_identifier', event.contractId);
    if (!('action' in event)) continue;
    see('sender', event.sender);
    see('receiver', event.recipient);
    see('principal', event.recipient);
    if (event.kind !== 'stx') see('asset_identifier', event.asset);
    if (event.kind === 'nft') see('value', toHex(event.value));
    else see('min_amount', event.amount);
  }
}
for (const word of ['block_found', 'extended_runtime']) see('cause', word);
for (const word of ['print', 'nothing']) see('topic', word);
for (const word of ['u1', 'tuple', 'zzz']) see('contains', word);

/** Parameters that the property never draws, because tests above cover their forms */
const TESTED_ABOVE = ['argument', 'memo', 'status', 'type'];

test('the property draws each parameter of a filter, or tests above cover it', () => {
  const names = new Set(Object.values(full).flatMap(Object.keys));
  expect([...names].filter((name) => !(name in seen)).sort()).toEqual(TESTED_ABOVE);
});

const anyFilter: fc.Arbitrary<Filter> = fc
  .tuple(fc.constantFrom(...Object.values(full)), fc.infiniteStream(fc.nat()), fc.infiniteStream(fc.boolean()))
  .map(([filter, numbers, choices]) => {
    const parts: Record<string, unknown> = { type: filter.type };
    for (const name of Object.keys(filter)) {
      const values = [...(seen[name] ?? [])];
      const [number, chosen] = [numbers.next().value ?? 0, choices.next().value ?? false];
      if (values.length > 0 && (chosen || isRequired(filter.type, name))) parts[name] = values[number % values.length];
    }
    return parts as Filter;
  });

test("the index over many hooks finds the same matches as each hook's filters separately", () => {
  const seen = new Seen({ matches: 500 });
  assertProperty(
    fc.property(
      fc.array(fc.array(anyFilter, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 40 }),
      (hooks) => {
        const matcher = new Matcher();
        for (const [id, filters] of hooks.entries()) matcher.set(id, filters.flatMap(toConditions));
        for (const [id] of hooks.entries()) if (id % 5 === 4) matcher.delete(id);
        for (const block of blocks) {
          const expected = new Map<number, number[]>();
          for (const [id, filters] of hooks.entries()) {
            if (id % 5 === 4) continue;
            const places = ownTransactions(block).flatMap((transaction, place) =>
              filters.some((filter) => plainly(filter, transaction)) ? [place] : [],
            );
            if (places.length > 0) expected.set(id, places);
          }
          seen.add('matches', expected.size);
          expect(matcher.match(block)).toEqual(expected);
        }
      },
    ),
    { seen, cases: 30 },
  );
});
