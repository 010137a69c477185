/** The console's texts and values of the chain's data, without a browser. */

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { serverStates, stateWords } from '../../src/api/server-state.ts';
import {
  messageOf,
  type PostCondition,
  type ServerStatus,
  type Transaction,
  type TransactionEvent,
  urlOf,
} from '../../src/console/app/api/api.ts';
import {
  blockTitle,
  branchRows,
  expectedBlockText,
  feeLevel,
  fillOf,
  groupByTenure,
  type NewestBlocks,
  noBlockText,
  orphanedBlock,
  type Projection,
  projectionNotes,
  type StripBlock,
} from '../../src/console/app/chain/blocks.ts';
import {
  axisTop,
  type ChartSeries,
  describeChart,
  firstIndexIn,
  mergeRanges,
  sampleIndexes,
  scaleOf,
  spansOf,
  timeLabel,
  timeTicks,
  valueRange,
  valueTicks,
  withGaps,
} from '../../src/console/app/chain/chart.ts';
import { errorSource, parseDefinitions, tokenize, tokenLines } from '../../src/console/app/chain/clarity.ts';
import { CHAIN_FILTERS, PENDING_FILTERS, parseFilters } from '../../src/console/app/chain/filters.ts';
import {
  addDays,
  ago,
  amountParts,
  bufferText,
  bytes,
  count,
  decimalText,
  duration,
  exactTime,
  hexToText,
  localTime,
  percent,
  shortPrincipal,
  stxText,
  tokenLabel,
  tokenUnit,
  toMicroStx,
  visible,
} from '../../src/console/app/chain/format.ts';
import {
  fieldsOf,
  fieldTitle,
  fieldValue,
  filterTypes,
  mistakeIn,
  titleOf,
  toDraft,
  withField,
  withType,
} from '../../src/console/app/chain/hook-definition.ts';
import { makeDraft } from '../../src/console/app/chain/hook-templates.ts';
import {
  failureLine,
  type Hook,
  healthOf,
  missedBlocksOf,
  waitingDeliveriesText,
} from '../../src/console/app/chain/hooks.ts';
import { isLogMatch, parseLogFields } from '../../src/console/app/chain/log.ts';
import { networkMistake, pathMistake } from '../../src/console/app/chain/path-mistake.ts';
import {
  groupResults,
  normalizeSearch,
  pageOfResult,
  pageOfSearch,
  type SearchResult,
} from '../../src/console/app/chain/search.ts';
import { numericColumns, pageOf } from '../../src/console/app/chain/sql.ts';
import {
  alertTitle,
  archiveFigure,
  baseFigure,
  chainState,
  diskText,
  firstSteps,
  networkName,
  stateTitle,
} from '../../src/console/app/chain/state.ts';
import {
  balanceChanges,
  causeTitle,
  confirmations,
  describeCondition,
  directionOf,
  failedCondition,
  plainText,
  sentence,
} from '../../src/console/app/chain/transaction.ts';
import type { PageName } from '../../src/console/page-paths.ts';
import { type FilterType, filterSchemas } from '../../src/hooks/definition/filter-schemas.ts';
import { assertProperty, character } from '../support/property.ts';

const SENDER = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';
const RECIPIENT = 'SP000000000000000000002Q6VF78';

const common = { sender_address: SENDER, fee_rate: '3000', tx_status: 'success', nonce: 1 };
const transaction = (fields: object): Transaction => ({ ...common, ...fields }) as Transaction;
const transferOf = (fields: object = {}): Transaction =>
  transaction({
    tx_type: 'token_transfer',
    token_transfer: { recipient_address: RECIPIENT, amount: '10000000', memo: '0x' },
    ...fields,
  });

describe('the sentence about a transaction', () => {
  const call = { contract_id: `${SENDER}.pool`, function_name: 'join' };
  const failedCall = { tx_type: 'contract_call', tx_status: 'abort_by_response', sponsor_address: RECIPIENT };
  const genesis = { fee_rate: '0', token_transfer: { recipient_address: SENDER, amount: '0', memo: '0x' } };
  const tenure = { tx_type: 'tenure_change', fee_rate: '0', tenure_change_payload: { cause: 'block_found' } };
  test.each<[what: string, transaction: Transaction, text: string]>([
    ['a mined transfer', transferOf(), 'SP2J6…V9EJ7 sent 10 STX to SP000…6VF78; fee 0.003 STX.'],
    ['a pending one', transferOf({ tx_status: 'pending' }), 'SP2J6…V9EJ7 wants to send 10 STX to '],
    ['a dropped one', transferOf({ tx_status: 'dropped_replace_by_fee' }), 'SP2J6…V9EJ7 tried to send 10 STX'],
    [
      'a failed call with a sponsor',
      transaction({ ...failedCall, contract_call: call }),
      'SP2J6…V9EJ7 called SP2J6…V9EJ7.pool::join, which failed; fee 0.003 STX, paid by SP000…6VF78.',
    ],
    ['the genesis block', transferOf(genesis), 'The genesis block gave the first accounts their balances.'],
    ['a tenure change', transaction(tenure), 'The miner SP2J6…V9EJ7 began a tenure for a new Bitcoin block.'],
  ])('describes %s', (_, transaction, text) => {
    expect(plainText(sentence(transaction))).toStartWith(text);
  });
});

describe('Clarity source', () => {
  test('splits into tokens that join to the same text', () => {
    assertProperty(
      fc.property(fc.string({ unit: character }), (text) => {
        const joined = (tokens: readonly { text: string }[]) => tokens.map((token) => token.text).join('');
        expect(joined(tokenize(text))).toBe(text);
        expect(tokenLines(text).map(joined).join('\n')).toBe(text);
      }),
      { always: 'any text is taken apart and put together', cases: 200 },
    );
  });

  const SOURCE = `;; (define-public (not-this)) stands in a comment
(define-constant ERR_OWNER (err u4)) ;; (err u4)
(define-constant ERR_FULL u7)
(define-fungible-token coin)
(define-map stakes
  principal
  { amount: uint })
(define-public (join (amount uint) (who principal))
  (begin
    (asserts! (> amount u0) (err u99))
    (print "a ( in a string")
    (ok true)))
`;

  test('gives definitions with line and signature', () => {
    expect(parseDefinitions(SOURCE).map(({ kind, name, line, detail }) => [kind, name, line, detail])).toEqual([
      ['constant', 'ERR_OWNER', 2, '(err u4)'],
      ['constant', 'ERR_FULL', 3, 'u7'],
      ['fungible-token', 'coin', 4, ''],
      ['map', 'stakes', 5, 'principal'],
      ['public', 'join', 8, '(amount uint) (who principal)'],
    ]);
  });

  const ownMistake = { constant: null, comment: null, meaning: null };
  test.each([
    ['(err u4)', { line: 2, constant: 'ERR_OWNER', comment: '(err u4)', meaning: null }],
    ['(err u7)', { line: 3, constant: 'ERR_FULL', comment: null, meaning: null }],
    ['(err u99)', { ...ownMistake, line: 10 }],
    ['(err u5)', null],
    ['(ok true)', null],
  ])('has the error %s at its definition', (error, place) => {
    expect(errorSource(SOURCE, 'join', error)).toEqual(place);
  });

  test('has no location for an error that occurs on several lines', () => {
    expect(errorSource('(err u1)\n(err u1)', 'join', '(err u1)')).toBeNull();
  });

  test('a constant has the comment in its line, or a whole line above', () => {
    const comment = (source: string) => errorSource(source, 'join', '(err u1)')?.comment;
    expect(comment('(define-constant E (err u1)) ;; full ')).toBe('full');
    expect(comment('(print u2)\n;; closed\n(define-constant E (err u1))')).toBe('closed');
    // The first comment describes the contract.
    expect(comment(';; A club\n;; with members\n(define-constant E (err u1))')).toBeNull();
    expect(comment('(print u2) ;; other\n(define-constant E (err u1))')).toBeNull();
  });

  const TOKEN = `;; ft-transfer? in a comment
(define-public (transfer (amount uint))
  (begin
    (try! (ft-transfer? coin amount a b))
    (nft-burn? card u1 a)))
(define-public (burn (amount uint)) (ft-burn? coin amount a))
(define-public (twice) (begin (try! (ft-mint? coin u0 a)) (ft-burn? coin u1 a)))
(define-read-only (mint) (ft-mint? coin u0 a))
`;

  test.each([
    ['transfer', '(err u2)', { ...ownMistake, line: 4, meaning: 'sender and recipient are the same' }],
    ['burn', '(err u1)', { ...ownMistake, line: 6, meaning: expect.stringContaining('the sender has too few tokens') }],
    ['transfer', '(err u1)', null],
    ['transfer', '(err u9)', null],
    ['transfer', '(err false)', null],
    ['twice', '(err u1)', null],
    ['mint', '(err u1)', null],
    ['none', '(err u1)', null],
  ])('the only built-in function of %s that returns %s explains it', (name, error, place) => {
    expect(errorSource(TOKEN, name, error)).toEqual(place);
  });
});

describe('post-conditions', () => {
  const origin = { type_id: 'principal_origin' };
  const atMost = 'sent_less_than_or_equal_to';
  const stx = { type: 'stx', condition_code: atMost, amount: '5', principal: origin } as PostCondition;
  const token = {
    type: 'fungible',
    condition_code: 'sent_equal_to',
    amount: '7000',
    principal: { type_id: 'principal_standard', address: RECIPIENT },
    asset: { contract_address: SENDER, contract_name: 'pool', asset_name: 'coin' },
  } as PostCondition;

  test('are described in words', () => {
    const none = { principal: null, amount: null, asset: null, value: null };
    expect(describeCondition(stx)).toEqual({ ...none, rule: 'must send at most 0.000005 STX' });
    const asset = `${SENDER}.pool::coin`;
    expect(describeCondition(token)).toMatchObject({ rule: 'must send exactly', amount: '7000', asset });
  });

  test("the failed one is found by the node's reason, or if it is the only one", () => {
    expect(failedCondition([token, stx], 'deny', SENDER, `failure on STX owned by ${SENDER}`)).toBe(1);
    expect(failedCondition([stx, stx], 'deny', SENDER, `failure on STX owned by ${SENDER}`)).toBeNull();
    expect(failedCondition([token, stx], 'allow', SENDER, null)).toBeNull();
    expect(failedCondition([stx], 'allow', SENDER, null)).toBe(0);
    expect(failedCondition([stx], 'deny', SENDER, null)).toBeNull();
  });
});

describe('balance changes', () => {
  test('contain a transfer and its fee', () => {
    const event = {
      event_type: 'stx_asset',
      asset: { asset_event_type: 'transfer', sender: SENDER, recipient: RECIPIENT, amount: '10' },
    } as TransactionEvent;
    expect(balanceChanges([event], { payer: SENDER, amount: '3' })).toEqual([
      { principal: SENDER, asset: null, isFungible: false, net: -13n },
      { principal: RECIPIENT, asset: null, isFungible: false, net: 10n },
    ]);
  });

  test('omit an amount that comes back', () => {
    const move = (sender: string, recipient: string) =>
      ({
        event_type: 'fungible_token_asset',
        asset: { asset_event_type: 'transfer', sender, recipient, amount: '10', asset_id: 'A.b::c' },
      }) as TransactionEvent;
    const both = [move(SENDER, RECIPIENT), move(RECIPIENT, SENDER)];
    expect(balanceChanges(both, { payer: SENDER, amount: '0' })).toEqual([]);
  });
});

describe('the chainhook form', () => {
  test('has the fields of each filter on the server', () => {
    expect(filterTypes).toEqual(Object.keys(filterSchemas) as FilterType[]);
    expect(fieldsOf('contract_call').map(({ name, isList, required }) => [name, isList, required])).toEqual([
      ['contract_identifier', false, false],
      ['function_name', false, false],
      ['argument.index', false, false],
      ['argument.equals', false, false],
      ['sender', false, false],
      ['status', true, false],
    ]);
    expect(fieldsOf('balance_change')).toMatchObject([{ name: 'principal', required: true, choices: null }]);
  });

  const draft = {
    ...makeDraft(null, '', 'testnet', ''),
    name: 'a hook',
    action: { type: 'http_post', url: 'http://127.0.0.1/' },
  } as const;
  test('names the field of a mistake as its label does', () => {
    expect(fieldTitle('action.url')).toBe('URL of the receiver');
    expect(fieldTitle('filters.events.1.asset_identifier')).toBe('Filter 2: Asset identifier');
    expect(fieldTitle('filters.events')).toBe('filters.events');
    const path = 'options.expire_after_occurrences';
    const message = 'must be an integer';
    expect(mistakeIn(`Invalid request body: ${path} ${message}`)).toEqual({ path, message });
    expect(mistakeIn('The server does not answer.')).toBeNull();
  });

  test('edits the members of an object as fields, and removes an empty object', () => {
    const memo = withField({ type: 'stx_transfer' }, 'memo.contains', 'order');
    expect(memo).toEqual({ type: 'stx_transfer', memo: { contains: 'order' } });
    expect(fieldValue(memo, 'memo.contains')).toBe('order');
    expect(withField(memo, 'memo.contains', '')).toEqual({ type: 'stx_transfer' });
    const first = withField({ type: 'contract_call' }, 'argument.index', '0');
    expect(first).toEqual({ type: 'contract_call', argument: { index: 0 } });
    expect(withType(memo, 'stx_burn')).toEqual({ type: 'stx_burn' });
  });

  test('shows every definition that has its fields, and no other JSON', () => {
    expect(toDraft(draft)).toEqual(draft);
    expect(toDraft({ ...draft, version: undefined, chain: undefined, action: { url: draft.action.url } })).toEqual(
      draft,
    );
    expect(toDraft({ ...draft, options: null })).toEqual({ ...draft, options: {} });
    const others = [undefined, [], { ...draft, filters: { events: [{}] } }, { ...draft, options: [] }, { name: 'x' }];
    expect(others.map(toDraft)).toEqual(others.map(() => null));
  });

  test('keeps the common fields of two filter types, and drops an empty field', () => {
    const filter = { type: 'stx_transfer', sender: SENDER, min_amount: '5' };
    expect(withType(filter, 'stx_burn')).toEqual({ type: 'stx_burn', sender: SENDER, min_amount: '5' });
    expect(withType(filter, 'contract_call')).toEqual({ type: 'contract_call', sender: SENDER });
    expect(withField(filter, 'sender', '')).toEqual({ type: 'stx_transfer', min_amount: '5' });
  });
});

describe('the strip of blocks', () => {
  const block = (height: number, bitcoin: number) => ({ height, burn_block_height: bitcoin }) as StripBlock;
  const orphan = (height: number) => ({ height }) as NewestBlocks['orphans'][number];

  test('groups blocks by tenure, with each orphaned block at the block that replaced it', () => {
    const tenures = groupByTenure({
      blocks: [block(5, 102), block(4, 101), block(3, 101), block(2, 100)],
      orphans: [orphan(6), orphan(5), orphan(3), orphan(3), orphan(1)],
    });
    expect(
      tenures.map(({ bitcoinHeight, entries }) => [
        bitcoinHeight,
        entries.map((entry) => [entry.block.height, entry.orphans.map(({ height }) => height)]),
      ]),
    ).toEqual([
      [102, [[5, [6, 5]]]],
      [
        101,
        [
          [4, []],
          [3, [3, 3]],
        ],
      ],
      [100, [[2, []]]],
    ]);
    expect(groupByTenure({ blocks: [], orphans: [] })).toEqual([]);
  });

  test('fills blocks by their size, and colors them by their median fee', () => {
    expect([fillOf(500, 1_000), fillOf(1, 1_000), fillOf(0, 0)]).toEqual([50, 6, 6]);
    expect(['0', '999', '1000', '10000', '5000000'].map(feeLevel)).toEqual([0, 0, 1, 2, 4]);
  });
});

describe('formats', () => {
  test.each([
    [count('1234567'), '1,234,567'],
    [count(-1000), '−1,000'],
    [stxText('10000000'), '10 STX'],
    [stxText('3000'), '0.003 STX'],
    [stxText('-1500000'), '−1.5 STX'],
    [bytes(999), '999 B'],
    [bytes(1_250_000), '1.25 MB'],
    [percent(1, 3), '33.3 %'],
    [percent(1, 1_000_000), '<0.01 %'],
    [percent(0, 0), '–'],
    [duration(59), '59 s'],
    [duration(200), '3 min 20 s'],
    [duration(7200), '2 h'],
    [duration(86_400 * 12), '12 d'],
    [ago(1), 'just now'],
    [ago(3700), '1 h ago'],
    [shortPrincipal(`${SENDER}.pool`), 'SP2J6…V9EJ7.pool'],
  ])('shows %s', (text, expected) => {
    expect(text).toBe(expected);
  });

  test('shows all decimals of an amount', () => {
    expect(amountParts('1234567890', 6)).toEqual({ sign: '', whole: '1,234', fraction: '567890' });
    expect(amountParts('5', 6)).toEqual({ sign: '', whole: '0', fraction: '000005' });
    expect(amountParts('-5', 0)).toEqual({ sign: '−', whole: '5', fraction: '' });
  });

  test('converts a typed amount of STX to micro-STX exactly', () => {
    const amounts = ['1', '0', '0.0', '1.', '.5', '1.5', ' 1,234.50000000 ', decimalText(2n ** 128n - 1n, 6)];
    const micro = ['1000000', '0', '0', '1000000', '500000', '1500000', '1234500000', String(2n ** 128n - 1n)];
    expect(amounts.map(toMicroStx)).toEqual(micro);
    assertProperty(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), (amount) => {
        expect(toMicroStx(decimalText(amount, 6))).toBe(String(amount));
      }),
      { always: 'each amount is one' },
    );
  });

  test.each(['', '1,5', "1'000", '1,0000', '-1', '.', '1e3', '0x10', '0.0000001'])('rejects the amount “%s”', (typed) =>
    expect(toMicroStx(typed)).toBeNull(),
  );

  test('shows a memo as text without trailing zeros, or null', () => {
    expect(hexToText('0x68690000')).toBe('hi');
    expect(hexToText('0x0000')).toBe('');
    expect(hexToText('0xff00')).toBeNull();
  });

  test('escapes invisible characters, and keeps line breaks', () => {
    expect(visible('a\u202eb\u200bc\n\td\u0000')).toBe('a\\u{202e}b\\u{200b}c\n\td\\u{0}');
    expect(visible('\u{e0041}')).toBe('\\u{e0041}');
  });

  test('sums bars over types, from the first value to the last', () => {
    const ranges = (...counts: number[]) =>
      counts.map((transactions, index) => ({ from: index, to: index === 3 ? null : index + 1, transactions }));
    expect(mergeRanges([ranges(0, 2, 0, 0), ranges(0, 1, 0, 5)])).toEqual([
      { from: 1, to: 2, count: 3 },
      { from: 2, to: 3, count: 0 },
      { from: 3, to: null, count: 5 },
    ]);
    expect(mergeRanges([ranges(0, 0, 0, 0)])).toEqual([]);
    expect(mergeRanges([])).toEqual([]);
  });
});

describe('charts', () => {
  test('have a text alternative', () => {
    const series = [
      { name: 'Mean', values: [4, null, 2, null] },
      { name: 'Slowest', values: [null] },
    ];
    const format = (value: number) => `${value} ms`;
    expect(describeChart('Deliveries', series, format)).toBe(
      'Deliveries. Mean: newest 2 ms, between 2 ms and 4 ms. Slowest: nothing.',
    );
  });

  test('clip a few outliers, which would flatten all other values', () => {
    const ordinary = Array.from({ length: 40 }, (_, nth) => 5 + (nth % 3));
    expect(axisTop(ordinary)).toBe(7);
    expect(axisTop([...ordinary, 900])).toBeCloseTo(8.4);
    expect(axisTop([1, 1, 900])).toBe(900);
    expect(axisTop([...ordinary.map(() => 0), 900])).toBe(900);
    expect(axisTop([])).toBe(0);
  });

  test('start at zero, except balances that are far from zero', () => {
    expect(valueRange([4, 10], true)).toEqual([0, 10.8]);
    expect(valueRange([-10, 5], true)).toEqual([-11, 5.4]);
    expect(valueRange([], true)).toEqual([0, 1]);
    expect(valueRange([1_000, 1_100], false)).toEqual([988, 1_112]);
    expect(valueRange([10, 1_100], false)).toEqual([0, 1_188]);
    expect(valueRange([0, 0], false)).toEqual([0, 1]);
    const [min, max] = valueRange([700, 700], false);
    expect([min < 700, max > 700]).toEqual([true, true]);
  });

  test('show a span that is shorter than their values', () => {
    const DAY = 86_400;
    const days = Array.from({ length: 40 }, (_, nth) => nth * DAY);
    expect(spansOf(days).map(([title]) => title)).toEqual(['7 days', '30 days']);
    expect(spansOf([0, 20 * DAY, 39 * DAY]).map(([title]) => title)).toEqual(['30 days']);
    expect([spansOf([0, DAY]), spansOf([5]), spansOf([])]).toEqual([[], [], []]);
    expect([firstIndexIn(days, 7 * DAY), firstIndexIn([5], DAY), firstIndexIn([], DAY)]).toEqual([32, 0, 0]);
  });

  test('have labels at round values and times', () => {
    expect(valueTicks([0, 10.8], 3, false)).toEqual([0, 5, 10]);
    expect(valueTicks([0, 2], 3, true)).toEqual([0, 1, 2]);
    expect(timeTicks([0, 3_000], 3, 'hour')).toEqual([0, 1_200, 2_400]);
    expect(timeTicks([0, 500_000], 2, 'hour')).toEqual([0, 432_000]);
    expect(valueTicks([0, 1], 0, false)).toEqual([0, 1]);
    expect(timeTicks([0, 3_599], 4, 'hour')).toEqual([0, 900, 1_800, 2_700]);
    expect(timeTicks([10, 90_000], 3, 'hour')).toEqual([43_200, 86_400]);
    expect(timeTicks([0, 6 * 86_400], 3, 'days')).toEqual([0, 172_800, 345_600, 518_400]);
    const year = timeTicks([Date.UTC(2026, 0, 15) / 1000, Date.UTC(2027, 0, 15) / 1000], 4, 'years');
    expect(year.map((time) => timeLabel(time, 'years'))).toEqual(['2026-04', '2026-07', '2026-10', '2027-01']);
    expect(timeTicks([0, 20 * 365 * 86_400], 4, 'years').length).toBeLessThan(6);
  });

  test('have a short table with the newest row first', () => {
    expect(sampleIndexes(5, 10)).toEqual([4, 3, 2, 1, 0]);
    expect(sampleIndexes(7, 3)).toEqual([6, 3, 0]);
    expect(sampleIndexes(0, 3)).toEqual([]);
  });

  test('have a gap if nothing was measured', () => {
    const series: ChartSeries[] = [{ name: 'Requests', values: [1, 2, 3, 4] }];
    expect(withGaps([10, 20, 30, 40], series, 10)).toEqual({ times: [10, 20, 30, 40], series });
    expect(withGaps([10, 20, 3_600, 3_610], series, 10)).toEqual({
      times: [10, 20, 30, 3_600, 3_610],
      series: [{ name: 'Requests', values: [1, 2, null, 3, 4] }],
    });
  });

  test('show the seconds between blocks, and round times', () => {
    const scales = ['hour', 'days', 'years'] as const;
    expect(scales.map((scale) => timeLabel(1_795_305_600, scale))).toEqual(['00:00', '11-22', '2026-11']);
    const ranges = [[0, 3_600], [0, 40 * 86_400], [0, 400 * 86_400], []];
    expect(ranges.map(scaleOf)).toEqual([...scales, 'hour']);
  });
});

describe("the chain's state", () => {
  const HOUR = 3_600;
  const words = (
    state: ServerStatus['state'],
    [height, nodeHeight, age]: [number | null, number | null, number | null],
    left: number | null = null,
  ): string => {
    const status = {
      state,
      seconds_left: left,
      node: { height: nodeHeight },
      index: { height, tip_age_seconds: age },
    } as ServerStatus;
    const { tone, word, detail } = chainState(status, false);
    return [tone, word, ...(detail === null ? [] : [detail])].join(' | ');
  };

  test('shows an old newest block and an unreachable node', () => {
    expect(words('live', [60, 60, 5])).toBe('ok | Live');
    expect(words('stale', [60, 60, 2 * HOUR])).toBe('bad | Stale | newest block 2 h ago');
    expect(words('live', [60, null, 5])).toBe('wait | Live | node away, newest block 5 s ago');
  });

  test('shows heights and the remaining time while the index catches up', () => {
    const behind = 'wait | Catching up | 45,000 of 200,000, 25 min 50 s left';
    expect(words('catching_up', [45_000, 200_000, HOUR], 1_550)).toBe(behind);
    expect(words('starting', [45_000, 200_000, HOUR])).toBe('wait | Starting | 45,000 of 200,000');
    // A host of a cluster lacks entries of the log.
    expect(words('catching_up', [60, 60, 5])).toBe('wait | Catching up');
  });

  test('names the network', () => {
    const names = ['Mainnet', 'Testnet', 'Chain 0x00000100', null];
    expect([1, 0x8000_0000, 0x100, null].map((id) => networkName(id))).toEqual(names);
    expect(networkName(0x8000_0000, true)).toBe('Devnet');
  });

  test("uses the server's words for every other state", () => {
    const others = serverStates.filter((state) => !['live', 'catching_up', 'starting'].includes(state));
    expect(others.map((state) => words(state, [null, null, null]))).toEqual([
      ...['bad | Cannot write', 'bad | Cannot read', 'bad | Wrong chain', 'wait | Waiting for the node'],
      ...['wait | Waiting for the first event', 'bad | Stuck', 'bad | Stale'],
    ]);
    for (const state of serverStates) expect(stateTitle(state).toLowerCase()).toBe(stateWords(state));
    expect(chainState(null, false).word).toBe('Connecting…');
    expect(chainState(null, true).word).toBe('Server away');
  });
});

test('times are local, and the exact time is in UTC', () => {
  const timeZone = process.env.TZ;
  try {
    process.env.TZ = 'Asia/Kolkata';
    expect([localTime(1_795_305_600), timeLabel(1_795_305_600, 'hour')]).toEqual(['2026-11-22 05:30:00', '05:30']);
    process.env.TZ = 'America/New_York';
    expect(localTime(1_795_305_600)).toBe('2026-11-21 19:00:00');
    expect(exactTime(1_795_305_600)).toBe('2026-11-22 00:00:00 UTC');
  } finally {
    process.env.TZ = timeZone ?? 'Etc/UTC';
  }
});

describe('the steps to the first block', () => {
  const steps = (fields: object) =>
    firstSteps({
      state: 'waiting_for_the_node',
      observer: '[[events_observer]]',
      simulated_node: false,
      node: { height: null, chain_id: null },
      index: { height: null, chain_id: null },
      events: { endpoint: '127.0.0.1:3700', last_received_at: null },
      ...fields,
    } as ServerStatus).map(({ name, progress }) => `${name} ${progress}`);
  const node = { height: 60, chain_id: 1 };

  test('begin with the node', () => {
    expect(steps({})).toEqual(['Node now', 'Chain later', 'Height later', 'Observer later', 'Events later']);
    expect(steps({ observer: null })[3]).toBe('Observer done');
  });

  test('continue with the observer, then wait for events', () => {
    const state = 'waiting_for_the_first_event';
    const waiting = ['Node done', 'Chain done', 'Height done', 'Observer now', 'Events later'];
    expect(steps({ state, node })).toEqual(waiting);
    expect(steps({ state, node, observer: null }).slice(3)).toEqual(['Observer done', 'Events now']);
    expect(steps({ state, node, events: null }).slice(2)).toEqual(['Height done', 'Events now']);
    const events = { endpoint: '127.0.0.1:3700', last_received_at: 1_700_000_000 };
    const all = steps({ state: 'starting', node, events, observer: null });
    expect(all.filter((step) => !step.endsWith('done'))).toEqual([]);
  });

  test('stop at the chain if the node belongs to another one', () => {
    expect(steps({ state: 'wrong_chain', node }).slice(0, 3)).toEqual(['Node done', 'Chain now', 'Height done']);
  });
});

const details = 'action.url is not allowed: the address is private';
const notFound = { message: 'Block not found', error: 'Not Found', statusCode: 404 };

test.each<[shown: string, body: unknown]>([
  [`Invalid request body: ${details}`, { error: 'Invalid request body', details }],
  ['Block not found', notFound],
  ['cannot find block by height', { error: 'cannot find block by height' }],
  ['Until height must be > 5', { message: 'body/until_height must be > 5' }],
  ['Arguments 1 must be a literal', { message: 'body/arguments/1 must be a literal' }],
  ['Amount must be a whole number', { message: 'body/amount must be a whole number, as text' }],
  ['Invalid STX address in Address: a mistake', { message: 'invalid STX address in body/address: a mistake' }],
  ...[undefined, {}, { message: 1 }, 'text'].map((body): [string, unknown] => [
    'The server answered with status 502.',
    body,
  ]),
])('“%s” is the text of an error with the body %j', (shown, body) => {
  expect(messageOf(body, 502)).toBe(shown);
});

test('the path of a request has its parameters, a list as repeated keys, and nothing for null', () => {
  const params = { asset: 'SP1.a::b', limit: 50, cursor: null, status: ['success', 'unknown'], to: undefined };
  const url = '/tokens/SP1.a%3A%3Ab/holders?limit=50&status=success&status=unknown';
  expect(urlOf('/tokens/{asset}/holders', params)).toBe(url);
  expect(urlOf('/v3/names/{name}', { name: '$&?' })).toBe('/v3/names/%24%26%3F');
  expect(urlOf('/extended', {})).toBe('/extended');
});

/** A chainhook in good health, except for some fields of its status. */
function hookWith(fields: Partial<Hook['status']>, uuid = 'a'): Hook {
  const none = { interrupted_reason: null, paused_reason: null, last_error: null, failing_delivery: null };
  const counts = { consecutive_failures: 0, lag_blocks: 0, pending_deliveries: 0 };
  const times = { last_failed_at: null, next_attempt_at: null };
  return { uuid, status: { status: 'streaming', enabled: true, ...none, ...counts, ...times, ...fields } } as Hook;
}

test.each<[word: string, status: Partial<Hook['status']>]>([
  ['Healthy', {}],
  ['Secret unreadable', { paused_reason: 'secret_unreadable' }],
  ['Secret unreadable', { paused_reason: 'secret_unreadable', lag_blocks: 3, consecutive_failures: 2 }],
  ['Interrupted', { paused_reason: 'secret_unreadable', status: 'interrupted' }],
  ['Disabled', { enabled: false }],
  ['Failing', { consecutive_failures: 2 }],
  ['Failing', { failing_delivery: 'msg_1' }],
  ['Catching up', { lag_blocks: 3 }],
])("“%s” is a chainhook's most important problem if it has %j", (word, status) => {
  expect(healthOf(hookWith(status)).word).toBe(word);
});

test('a disabled or expired chainhook has missed the blocks since then, unless it continues where it stopped', () => {
  const missed = (status: Partial<Hook['status']>) =>
    missedBlocksOf(hookWith({ enabled: false, lag_blocks: 3, ...status }));
  expect([missed({}), missed({ status: 'expired' })]).toEqual([3, 3]);
  const continuing = [{ enabled: true }, { status: 'interrupted' }, { paused_reason: 'log_restored' }] as const;
  expect(continuing.map(missed)).toEqual([0, 0, 0]);
});

test('a failing chainhook shows the reason, the next retry and the waiting deliveries', () => {
  const last_error = 'status 503: \u202edatabase is locked';
  const failing = { consecutive_failures: 3, last_error, pending_deliveries: 13, next_attempt_at: 1_000 };
  const gone = { enabled: false, interrupted_reason: 'it is gone', pending_deliveries: 2 };
  const hooks = [hookWith({}), hookWith(failing, 'b'), hookWith({ ...gone, status: 'interrupted' }, 'c')];
  expect(hooks.map((item) => failureLine(item, 740))).toEqual([
    null,
    'status 503: \\u{202e}database is locked; next attempt in 4 min 20 s',
    'it is gone',
  ]);
  const waiting = ['12 more deliveries wait behind it', '1 more delivery waits behind it'];
  expect(hooks.slice(1).map(waitingDeliveriesText)).toEqual(waiting);
});

test('an address of another network than the chain gets a note', () => {
  const testnet = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM.pool';
  const ofMainnet = 'This is an address of mainnet, and this server has the chain of a testnet.';
  const ofTestnet = 'This is an address of testnet, and this server has the chain of mainnet.';
  expect([1, 0x8000_0000].map((chain) => networkMistake(SENDER, chain))).toEqual([null, ofMainnet]);
  expect([1, 0x8000_0000, null].map((chain) => networkMistake(testnet, chain))).toEqual([ofTestnet, null, null]);
});

describe("a value in a page's path", () => {
  const mistyped = SENDER.replace('J6ZY', 'J6ZZ');
  const wrong = `Stacks address: ${mistyped}. Its checksum is wrong, so a character may be mistyped.`;
  const hash = 'ab'.repeat(32);

  test.each<[problem: string, page: PageName, params: Record<string, string>]>([
    ['Stacks address: SPNOPE. An address begins with SP, SM, ST or SN, and has 28', 'principal', { id: 'SPNOPE' }],
    ['block hash: 0x12. The hash of a block has 64 hexadecimal digits.', 'fork', { hash: '0x12' }],
    [`contract: ${SENDER}. `, 'contract', { id: SENDER }],
    ['transaction id: 0x12. ', 'transaction', { id: '0x12' }],
    ...(['hook', 'editHook', 'delivery'] as const).map((page): [string, PageName, Record<string, string>] => [
      'chainhook id: mine. ',
      page,
      { id: 'mine' },
    ]),
    ['block: tip. ', 'block', { id: 'tip' }],
    [`token: ${SENDER}.coin. `, 'token', { asset: `${SENDER}.coin` }],
    [wrong, 'principal', { id: mistyped }],
    [wrong, 'contract', { id: `${mistyped}.coin` }],
    [wrong, 'token', { asset: `${mistyped}.coin::coin` }],
  ])('is not a valid %s', (problem, page, params) => {
    expect(pathMistake(page, params)).toStartWith(`This is not a valid ${problem}`);
  });

  test.each<[page: PageName, params: Record<string, string>]>([
    ['principal', { id: SENDER }],
    ['contract', { id: `${SENDER}.pool` }],
    ['hook', { id: '2d0a6d68-b2c0-4065-a90f-90505923289d' }],
    ['token', { asset: `${SENDER}.pool::coin` }],
    ['nft', { asset: `${SENDER}.pool::coin`, value: '0x01' }],
    ['transaction', { id: hash }],
    ['block', { id: `0x${hash}` }],
    ['bitcoinBlock', { id: '12' }],
    ['bitcoinAddress', { address: 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss' }],
    ['bitcoinAddress', { address: 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3' }],
    ['name', { name: 'anything' }],
    ['overview', {}],
  ])('of the page %s is left to the API if its form is valid: %j', (page, params) => {
    expect(pathMistake(page, params)).toBeNull();
  });
});

test('a token is labelled by its number, or by the ends of another value', () => {
  const hex = `0x01${(1_234).toString(16).padStart(32, '0')}`;
  expect([tokenLabel(hex), tokenLabel(hex.replace('4d2', '4D2')), tokenLabel('1234')]).toEqual(Array(3).fill('#1,234'));
  expect(tokenLabel(`0x00${'00'.repeat(16)}`)).toBe('0x000000…000000');
  expect([tokenLabel('u1'), tokenLabel('abc')]).toEqual(['u1', 'abc']);
});

test.each<[role: string, ...Parameters<typeof directionOf>]>([
  ['Out', 'sender', '-1'],
  ['Sponsored for', 'sponsor', '-1'],
  ['Involved by', 'affected', '0'],
  ['Out by', 'affected', '-1'],
  ['In from', 'affected', '1'],
])('“%s” is the role of a principal that is the %s and got %s', (role, involvement, net) => {
  expect(directionOf(involvement, net)).toBe(role);
});

test("a token's unit comes only from its own contract, and only if it is readable", () => {
  const asset_identifier = 'SP1.pool::coin';
  const unit = (facts: object) => tokenUnit(asset_identifier, { asset_identifier, ...facts });
  expect(unit({ symbol: 'CN', decimals: 6 })).toEqual({ symbol: 'CN', decimals: 6 });
  expect(unit({ symbol: 'CN', decimals: 0 })).toEqual({ symbol: 'CN', decimals: 0 });
  expect(unit({ symbol: ' ', decimals: 39 })).toEqual({ symbol: null, decimals: null });
  expect(unit({ decimals: -1 })).toEqual({ symbol: null, decimals: null });
  expect(tokenUnit('SP1.pool::other', { asset_identifier, symbol: 'CN', decimals: 6 })).toBeNull();
  expect(tokenUnit(asset_identifier, {})).toBeNull();
});

describe('transaction filters', () => {
  const chosen = (query: string, names = CHAIN_FILTERS) => parseFilters(new URLSearchParams(query), names);
  const mistakes = (query: string) => chosen(query).filters.flatMap(({ mistake }) => mistake ?? []);
  const sender = 'ST3BQXHJW0VBW3PAH94CWZPV67WN3FX8KD58CXJDX';

  test('become conditions of the API, with amounts in STX and whole days in UTC', () => {
    const query = `type=contract_call&status=failed&sender=${sender}&recipient=${sender}.a&contract=${sender}.b&function=mint`;
    expect(
      chosen(`${query}&min=1.5&max=1,000&from=2026-01-31&to=2026-02-01&tab=transactions&cursor=AB`).conditions,
    ).toEqual({
      type: ['contract_call'],
      status: ['abort_by_response', 'abort_by_post_condition', 'problematic_skipped'],
      sender,
      recipient: `${sender}.a`,
      contract_id: `${sender}.b`,
      function_name: 'mint',
      min_amount: '1500000',
      max_amount: '1000000000',
      from_time: 1_769_817_600,
      to_time: 1_769_990_399,
    });
    expect(chosen('tab=transactions&sender=')).toMatchObject({ isActive: false, conditions: {} });
    expect(chosen('status=failed', PENDING_FILTERS)).toMatchObject({ isActive: false, conditions: {} });
  });

  test('are described in words', () => {
    const inWords = chosen(`type=smart_contract&status=success&sender=${sender}&min=2`).filters;
    expect(inWords.filter(({ text }) => text !== '').map(({ words }) => words)).toEqual([
      'Type: Deployment',
      'Status: Success',
      'Sender: ST3BQ…CXJDX',
      'STX sent, at least: 2',
    ]);
  });

  test('with a wrong value name the field', () => {
    expect(mistakes('type=nft&status=toString&min=1.1234567&from=2026-02-30')).toEqual([
      'Type: “nft” is none of token_transfer, contract_call, smart_contract, tenure_change, coinbase, poison_microblock.',
      'Status: “toString” is none of success, failed, abort_by_response, abort_by_post_condition, problematic_skipped.',
      'STX sent, at least: “1.1234567” is not an amount of STX with up to 6 decimals, such as 1,234.5.',
      'From day (UTC): “2026-02-30” is not a day such as 2026-01-31.',
    ]);
    const [address, contract] = mistakes(`sender=${sender}.a&contract=${sender}`);
    expect(address).toStartWith(`Sender: This is not a valid Stacks address: ${sender}.a.`);
    expect(contract).toStartWith(`Called contract: This is not a valid contract: ${sender}.`);
    expect(mistakes('from=2026-02-02&to=2026-02-01')).toEqual(['To day (UTC): The last day is before the first one.']);
    expect(chosen('sender=nobody').conditions).toBeNull();
  });
});

test('branches of a fork are rows by height, with one row for each orphaned block', () => {
  const blockOf = (height: number, name: string) => ({
    height,
    index_block_hash: name,
    hash: name,
    burn_block_height: 1,
    was_canonical: null,
  });
  const fork = {
    orphaned: [blockOf(5, '0xa'), blockOf(6, '0xb'), blockOf(6, '0xc')],
    canonical: [blockOf(5, 'x'), blockOf(6, 'y'), blockOf(7, 'z')],
  };
  const rows = branchRows(fork).map(({ height, orphaned, canonical }) => [height, orphaned?.hash, canonical?.hash]);
  expect([orphanedBlock(fork, '0xB'), orphanedBlock(fork, 'x')]).toEqual([
    { ...blockOf(6, '0xb'), replacement: true },
    null,
  ]);
  expect(rows).toEqual([
    [5, '0xa', 'x'],
    [6, '0xb', 'y'],
    [6, '0xc', undefined],
    [7, undefined, 'z'],
  ]);
});

describe('expected blocks', () => {
  test('are named by the blocks before them', () => {
    expect([blockTitle(1), blockTitle(2), blockTitle(3)]).toEqual(['Next block', '1 block later', '2 blocks later']);
  });

  test('have a name in a sentence, and give a sentence about their absence', () => {
    const names = ['the next block', 'the block after 1 other', 'the block after 3 others'];
    expect([1, 2, 4].map(expectedBlockText)).toEqual(names);
    const counts = { total: 30_000, considered: 20_000, estimated: 0, beyond: 1 };
    const projection: Projection = { ...counts, blocks: [], waiting: { nonce: 2, balance: 1 } };
    expect(projectionNotes(projection)).toEqual([
      '1 transaction would be in later blocks.',
      '2 transactions can’t be mined before another with a lower nonce.',
      '1 transaction can’t be paid from the account’s balance.',
      'The blocks contain the 20,000 transactions with the highest fees.',
    ]);
    const none = { ...projection, total: 0, considered: 0, beyond: 0, waiting: { nonce: 0, balance: 0 } };
    expect(projectionNotes(none)).toEqual([]);
    const missing = ['No pending transaction can be mined yet.', 'No transaction is pending.'];
    expect([noBlockText(projection), noBlockText(none)]).toEqual(missing);
  });
});

describe('SQL results', () => {
  const address = RECIPIENT;
  const hash = `0x${'5a'.repeat(32)}`;

  test.each<[column: string, value: string | number, page: PageName, params: object]>([
    ['sender', address, 'principal', { id: address }],
    ['anything', `${address}.pox-4`, 'contract', { id: `${address}.pox-4` }],
    ['asset_identifier', `${address}.t::coin`, 'token', { asset: `${address}.t::coin` }],
    ['replaced_by_tx_id', hash, 'transaction', { id: hash }],
    ['index_block_hash', hash, 'block', { id: hash }],
    ['burn_block_hash', hash, 'bitcoinBlock', { id: hash }],
    ['block_height', 7, 'block', { id: '7' }],
    ['burn_block_height', 7, 'bitcoinBlock', { id: '7' }],
  ])('in column %s link %p to its page', (column, value, page, params) => {
    expect<unknown>(pageOf(column, value)).toEqual({ page, params });
  });

  test.each([
    ['miner_tx_id', hash],
    ['memo', hash],
    ['fee', 7],
    ['block_height', 1.5],
    ['block_height', '7'],
    ['sender', 'javascript:alert(1)'],
    ['sender', `${address}.a b`],
    ['tx_id', null],
  ])('in column %s link %p to no page', (column, value) => {
    expect(pageOf(column, value)).toBeNull();
  });

  test('have columns of numbers, without texts that are none', () => {
    const rows = [
      ['1', 'a', null, '2026-01-31'],
      [null, '2', null, '2026-02-01'],
      [3.5, '4', null, '7'],
    ];
    expect(numericColumns({ columns: ['a', 'b', 'c', 'd'], rows })).toEqual([true, false, false, false]);
  });
});

test('the disk shows the days until it is full, and unknown values', () => {
  const disk = { index_bytes: 1, journal_bytes: 1, free_bytes: 80_000_000_000, growth: null };
  expect(diskText({ ...disk, free_bytes: null })).toBe('index and journal; the free space is unknown');
  expect(diskText(disk)).toBe('80 GB free; the forecast needs an hour of measurements');
  const growth = { measured_seconds: 7_200, bytes_per_day: 1_000_000_000, full_in_seconds: 80 * 86_400 };
  expect(diskText({ ...disk, growth })).toBe('80 GB free; full in 80 d at 1 GB a day, as in the last 2 h');
  const not = { ...growth, bytes_per_day: -1, full_in_seconds: null };
  expect(diskText({ ...disk, growth: not })).toBe('80 GB free; the disk did not fill in the last 2 h');
});

test('the archive shows its progress and failures', () => {
  const archive = { entry: 1_200, behind_entries: 0, behind_seconds: 0, failing: false };
  expect(archiveFigure(archive)).toEqual(['Complete', 'entries up to 1,200']);
  expect(archiveFigure({ ...archive, behind_entries: 3, behind_seconds: 4.2 })[0]).toBe('Behind by 5 s');
  expect(archiveFigure({ ...archive, behind_entries: 3, behind_seconds: 600, failing: true })).toEqual([
    'Behind by 10 min',
    'the last attempt failed; see the log. The archive has entries up to 1,200',
  ]);
});

test('the newest snapshot shows its age and the snapshot in progress', () => {
  const none = { entry: null, height: null, made_at: null, overdue_seconds: 0, failing: false, making: null };
  expect(baseFigure(none, 1_000)).toEqual(['None yet', 'a restore begins with the first entry']);
  const base = { ...none, entry: 1_200, height: 300, made_at: 1_000 };
  const now = 1_060;
  expect(baseFigure(base, 1_000 + 7_200)).toEqual(['2 h old', 'of height 300, entry 1,200']);
  expect(baseFigure({ ...base, failing: true }, now)[1]).toContain('the last attempt to make one failed');
  const making = { table: 'events', number: 3, of: 90, sent_bytes: 5_000_000 };
  expect(baseFigure({ ...base, making }, now)[1]).toBe('one is being made: table 3 of 90, events; 5 MB sent');
});

test('the days before and after a day follow the calendar', () => {
  expect([addDays('2024-02-28', 1), addDays('2025-01-01', -1)]).toEqual(['2024-02-29', '2024-12-31']);
});

describe('search', () => {
  const result = (kind: SearchResult['kind'], id: string, match: SearchResult['match'] = 'start'): SearchResult => ({
    kind,
    id,
    match,
    label: id,
    detail: null,
    block_height: null,
  });
  test('lists results by kind, with the kind of the best result first', () => {
    const [token, contract, other] = [result('token', 'a'), result('contract', 'b'), result('token', 'c')];
    expect(groupResults([token, contract, other])).toEqual([
      { kind: 'token', title: 'Tokens', items: [token, other] },
      { kind: 'contract', title: 'Contracts', items: [contract] },
    ]);
  });

  test('searches a height as pages show it, and other texts as typed', () => {
    const searches = ['1200', '#12345678', '1,20', 'a,b', '12'];
    expect([' 1,200 ', '#12,345,678', '1,20', 'a,b', '12'].map(normalizeSearch)).toEqual(searches);
  });

  const part = result('contract', `${SENDER}.pool`);
  const tokenOf = `${SENDER}.pool::coin`;
  const bitcoin = [result('bitcoin_address', '1Bg', 'exact'), result('address', SENDER, 'exact')];
  test.each<[text: string, results: SearchResult[], page: PageName, params: object]>([
    ['12', [result('block', '0xab', 'exact')], 'block', { id: '12' }],
    ['12', [result('burn_block', '0xab', 'exact')], 'bitcoinBlock', { id: '0xab' }],
    ['0xab', [result('block', '0xab', 'exact')], 'block', { id: '0xab' }],
    ['1Bg', bitcoin, 'bitcoinAddress', { address: '1Bg' }],
    ['12', [result('transaction', '0x12')], 'block', { id: '12' }],
    ['#0012', [], 'block', { id: '0012' }],
    [SENDER.toLowerCase(), [], 'principal', { id: SENDER }],
    [`${SENDER.toLowerCase()}.Pool`, [part], 'contract', { id: `${SENDER}.Pool` }],
    [tokenOf, [], 'token', { asset: tokenOf }],
    ['poo', [part], 'contract', { id: part.id }],
    ['alice.btc', [], 'name', { name: 'alice.btc' }],
    ['alice.btc', [result('name', 'alice.btc2')], 'name', { name: 'alice.btc2' }],
  ])("for %p opens an exact match, else the page for the text's form, else the best result", (text, results, ...to) => {
    const [page, params] = to;
    expect<unknown>(pageOfSearch(text, results)).toEqual({ page, params });
  });

  test('opens no page for other texts, and the page of a chosen result', () => {
    for (const text of ['what is this?', 'ab'.repeat(32), '', '::', 'SP']) expect(pageOfSearch(text, [])).toBeNull();
    expect(pageOfResult(result('address', `${SENDER}.pool`)).page).toBe('contract');
    expect(pageOfResult(result('burn_block', '0x00')).page).toBe('bitcoinBlock');
  });
});

test('confirmations count the later blocks of both chains', () => {
  const mined = { block_height: 100, burn_block_height: 800_000 };
  const since = (block_height: number, burn_block_height: number) =>
    confirmations(mined, { block_height, burn_block_height });
  expect(since(1_234, 800_001)).toBe('1,134 Stacks blocks and 1 Bitcoin block since');
  // The tip of another response may be older.
  expect(since(99, 800_000)).toBe('0 Stacks blocks and 0 Bitcoin blocks since');
});

test('a buffer shows its text only if the bytes are printable, and a digest never does', () => {
  const texts = ['0x627463', '0x6964', '0x41', '0x00ff', `0x${'61'.repeat(129)}`, '0x6', 'u12', '0x61e280ae62'];
  expect(texts.map(bufferText)).toEqual(['btc', 'id', null, null, null, null, null, null]);
});

test('alerts, filters and fields have readable names', () => {
  expect(['StacksideCannotWrite', 'StacksideDown', 'Other'].map(alertTitle)).toEqual(['Cannot write', 'Down', 'Other']);
  const titles = ['STX transfer', 'Non-fungible token event', 'Minimum amount', 'Contract identifier'];
  expect(['stx_transfer', 'nft_event', 'min_amount', 'contract_identifier'].map(titleOf)).toEqual(titles);
});

describe('log events', () => {
  const fields = '{"height":1234,"path":"/new_block","more":{"a":1}}';
  const event = { event: 'block_applied', level: 'info', thread: 2, fields };

  test('have their fields by name, and none if the JSON is cut', () => {
    expect(parseLogFields(event)).toEqual([
      ['height', '1234'],
      ['path', '/new_block'],
      ['more', '{"a":1}'],
    ]);
    expect(parseLogFields({ fields: '{"height":12…' })).toEqual([]);
  });

  test.each([
    ['', '', true],
    ['info', '', true],
    ['warn', '', false],
    ['', 'APPLIED new_', true],
    ['', 'height', true],
    ['', 'applied orphaned', false],
    ['', 'height=12', true],
    ['', 'height=1234 path=/new', true],
    ['', 'height=34', false],
    ['', 'path=', true],
    ['', 'heights=1', false],
    ['', 'info api 2', true],
    ['', 'level=info thread=api', true],
    ['', 'main', false],
  ])('of level info and thread 2 match the level “%s” and the text “%s”: %p', (level, text, matches) => {
    expect(isLogMatch(event, level, text)).toBe(matches);
  });
});

test.each([
  ['block_found', 'New Bitcoin block'],
  ['extended', 'New budget'],
  ['extended_runtime', 'New budget: runtime'],
])('the cause %s of a tenure change is “%s”', (cause, title) => {
  expect(causeTitle(cause)).toBe(title);
});
