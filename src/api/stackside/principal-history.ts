/** Movements of a principal's assets, for accounting and taxes, and a summary of its activity. Only Stackside has these routes. */
import { type Static, Type } from '@sinclair/typebox';
import { DAY } from '../../base/format.ts';
import { utcMicroseconds } from '../../base/utc-time.ts';
import { clarityRepr } from '../../codec/clarity-text.ts';
import { toHex } from '../../codec/hex.ts';
import { memoText } from '../../codec/utf8.ts';
import { type CsvValue, csvLine } from '../../http/csv.ts';
import { ApiError, ParameterError, Problem } from '../../http/errors.ts';
import { chainTip, principal as principalTag } from '../../http/etag.ts';
import { jsonOf } from '../../http/json.ts';
import { InvalidValue } from '../../http/parameters.ts';
import { Streamed } from '../../http/respond.ts';
import { route } from '../../http/route.ts';
import type {
  Bound,
  Counterparties,
  HistoryWalk,
  Period,
  SeenTransaction,
  Movement as StoredMovement,
} from '../../store/model/account.ts';
import { ChainReplacedError } from '../../store/model/read-errors.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import { example } from '../shared/examples/examples.ts';
import {
  Amount,
  Asset,
  ClarityPair,
  clarity,
  Decimals,
  Hash,
  Height,
  IsoTime,
  isoTime,
  loadUnit,
  Memo,
  memo,
  named,
  nullable,
  object,
  Principal as PrincipalText,
  SignedAmount,
  TokenSymbol,
  type Unit,
  UnixTime,
  words,
} from '../shared/fields.ts';
import { AssetParameter, PrincipalParameter, textParameter } from '../shared/parameters.ts';

/** Parses a time to Unix seconds. @throws InvalidValue for a date or time that doesn't exist */
function parseTime(text: string): number {
  const time = utcMicroseconds(text);
  if (time === null) throw new InvalidValue('date', 'no calendar has this day or time');
  return Math.floor(time / 1_000_000);
}

const isHeight = (text: string): boolean => /^[0-9]+$/.test(text);
const isDay = (text: string): boolean => text.length === '2026-01-31'.length;

const parseFrom = (text: string): Bound => (isHeight(text) ? { height: Number(text) } : { time: parseTime(text) });

function parseTo(text: string): Bound {
  if (isHeight(text)) return { height: Number(text) };
  const time = parseTime(text);
  return { time: isDay(text) ? time + DAY - 1 : time };
}

const bound = (decode: (text: string) => Bound, description: string) =>
  Type.Optional(
    textParameter(decode, (end) => String('height' in end ? end.height : end.time), {
      pattern: '^([0-9]{1,15}|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?)$',
      rule: 'a height, a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z',
      description,
      examples: example('block_height').map(String),
    }),
  );

const periodQuery = {
  from: bound(
    parseFrom,
    'First block (default: the first block of the chain): a height, a day in UTC (`2026-01-31`) or a time (`2026-01-31T12:00:00Z`). A day or a time means the first block at or after that time.',
  ),
  to: bound(
    parseTo,
    'Last block (default: the tip): a height, a day in UTC, or a time. For a day or a time, it is the newest block up to then.',
  ),
};

/** The period of a query. @throws ParameterError if it ends before it begins */
function parsePeriod({ from, to }: { from?: Bound; to?: Bound }): Period {
  if (from !== undefined && to !== undefined && isBefore(to, from)) {
    throw new ParameterError({ location: 'querystring', path: ['to'] }, 'must not be before from');
  }
  return { from: from ?? null, to: to ?? null };
}

/** Whether a bound is before another. A height and a time can't be compared without the chain: such a period may be empty. */
const isBefore = (a: Bound, b: Bound): boolean =>
  'height' in a ? 'height' in b && a.height < b.height : 'time' in b && a.time < b.time;

interface MovementWithUnit extends StoredMovement {
  unit: Unit;
}

const [Movement, movement] = object<MovementWithUnit>('PrincipalMovement')({
  time: [IsoTime, ({ time }) => isoTime(time)],
  block_height: [Height, ({ height }) => height],
  tx_id: [nullable(Hash), ({ txId }) => (txId === null ? null : toHex(txId))],
  event_index: [
    nullable(Type.Integer({ description: 'Index of the event in its transaction' })),
    ({ eventIndex }) => eventIndex,
  ],
  type: [words('transfer', 'mint', 'burn', 'fee', 'mining_reward'), ({ kind }) => kind],
  asset: [Asset, ({ asset }) => asset],
  value: [nullable(ClarityPair), ({ value }) => (value === null ? null : clarity(value))],
  counterparty: [
    nullable(Type.String({ description: 'Sender or recipient of the asset' })),
    ({ counterparty }) => counterparty,
  ],
  amount: [SignedAmount, ({ amount }) => String(amount)],
  decimals: [nullable(Decimals), ({ unit }) => unit.decimals],
  balance: [SignedAmount, ({ balance }) => String(balance)],
  symbol: [nullable(TokenSymbol), ({ unit }) => unit.symbol],
  memo: [nullable(Memo), ({ memo: bytes }) => memo(bytes)],
});

export const History = named('PrincipalHistory', {
  principal: Type.String(),
  from_height: nullable(Height),
  to_height: nullable(Height),
  index_block_hash: nullable(Hash),
  movements: Type.Array(Movement),
  complete: Type.Boolean({ description: 'Whether the response contains all movements of the period' }),
  error: Type.Optional(Problem),
});

const STX: Unit = { symbol: 'STX', decimals: 6 };
const INSTANCE: Unit = { symbol: null, decimals: 0 };

/** Adds the units of amounts. @param units units of fungible tokens that the same answer has already read */
function addUnits(stored: readonly StoredMovement[], units: Map<string, Unit>, read: Reader): MovementWithUnit[] {
  return stored.map((row) => {
    const { asset } = row;
    if (asset.type !== 'ft') return { ...row, unit: asset.type === 'stx' ? STX : INSTANCE };
    const unit = units.get(asset.identifier) ?? loadUnit(read, asset.identifier);
    units.set(asset.identifier, unit);
    return { ...row, unit };
  });
}

const columns: Readonly<Record<string, (row: MovementWithUnit) => CsvValue>> = {
  time: ({ time }) => isoTime(time),
  block_height: ({ height }) => height,
  tx_id: ({ txId }) => (txId === null ? null : toHex(txId)),
  event_index: ({ eventIndex }) => eventIndex,
  type: ({ kind }) => kind,
  asset_type: ({ asset }) => asset.type,
  asset: ({ asset }) => (asset.type === 'stx' ? 'STX' : asset.identifier),
  value: ({ value }) => (value === null ? null : clarityRepr(value)),
  counterparty: ({ counterparty }) => counterparty,
  amount: ({ amount }) => amount,
  decimals: ({ unit }) => (unit.decimals === null ? null : JSON.stringify(unit.decimals)),
  balance: ({ balance }) => balance,
  symbol: ({ unit }) => unit.symbol,
  memo: ({ memo: bytes }) => (bytes === null ? null : memoText(bytes)),
};
const COLUMNS = Object.keys(columns);
const valuesOf = Object.values(columns);

const csvRecord = (row: MovementWithUnit): string => csvLine(valuesOf.map((value) => value(row)));

/** Yields the movements of a walk in batches, each read from a separate snapshot. */
function* batches(walk: HistoryWalk | null, read: Snapshots['read']): Generator<MovementWithUnit[], void> {
  if (walk === null) return;
  const units = new Map<string, Unit>();
  try {
    for (;;) {
      const rows = read((reader) => {
        const next = reader.history.next(walk);
        return next === null ? null : addUnits(next, units, reader);
      });
      if (rows === null) return;
      yield rows;
    }
  } catch (error) {
    if (!(error instanceof ChainReplacedError)) throw error;
    const message = `${error.message}: a fork or a rebuild replaced the chain; repeat the request`;
    throw new ApiError(409, message, 'CHAIN_REPLACED', { cause: error });
  }
}

/** Minimum characters of a part of the answer, except the last. */
const PART = 30_000;

/** The texts of movements; short ones are joined. */
function* joinTexts(rows: readonly MovementWithUnit[], text: (row: MovementWithUnit) => string): Generator<string> {
  let part = '';
  for (const row of rows) {
    part += text(row);
    if (part.length < PART) continue;
    yield part;
    part = '';
  }
  if (part !== '') yield part;
}

function streamCsv(principal: string, walk: HistoryWalk | null): Streamed {
  return new Streamed(
    'text/csv; charset=utf-8; header=present',
    `${principal}-${walk?.first ?? 0}-${walk?.last ?? 0}.csv`,
    async function* (read) {
      yield csvLine(COLUMNS);
      for (const rows of batches(walk, read)) yield* joinTexts(rows, csvRecord);
    },
    // Some bodies of errors lack `message`.
    ({ message, error }: { message?: unknown; error?: unknown }) => csvLine([`INCOMPLETE: ${message ?? error}`]),
  );
}

function streamJson(principal: string, walk: HistoryWalk | null): Streamed {
  const head = {
    principal,
    from_height: walk?.first ?? null,
    to_height: walk?.last ?? null,
    index_block_hash: walk === null ? null : toHex(walk.lastHash),
  };
  return new Streamed(
    'application/json; charset=utf-8',
    null,
    async function* (read) {
      yield `${jsonOf(head).slice(0, -1)},"movements":[`;
      let isFirst = true;
      for (const rows of batches(walk, read)) {
        for (const text of joinTexts(rows, (row) => `,${jsonOf(movement(row))}`)) {
          yield isFirst ? text.slice(1) : text;
          isFirst = false;
        }
      }
      yield '],"complete":true}';
    },
    (problem) => `],"complete":false,"error":${JSON.stringify(problem)}}`,
  );
}

const Seen = named('SeenTransaction', { tx_id: Hash, block_height: Height, time: UnixTime });
const Counted = named('Counterparties', {
  transfers: Type.Integer({ description: 'Number of transfers that were counted, the newest' }),
  results: Type.Array(named('Counterparty', { principal: PrincipalText, transfers: Type.Integer(), amount: Amount }), {
    description: 'Principals with the largest sums, in micro-STX',
  }),
});

const toCounted = ({ transfers, largest }: Counterparties): Static<typeof Counted> => ({
  transfers,
  results: largest.map((party) => ({ ...party, amount: String(party.amount) })),
});

const toSeen = (seen: SeenTransaction | null): Static<typeof Seen> | null =>
  seen === null ? null : { tx_id: toHex(seen.txId), block_height: seen.height, time: seen.time };

const family = { tag: 'Stackside', params: { principal: PrincipalParameter }, history: 'whole' } as const;

export const principalHistory = [
  route({
    ...family,
    path: '/stackside/v1/principals/{principal}/activity',
    operationId: 'getPrincipalActivity',
    summary: 'Summary of the activity of a principal',
    description:
      'Returns the first and the last transaction of a principal, and the principals that it exchanged the most STX with in its newest 1,000 transfers of each direction.',
    response: named('PrincipalActivity', {
      first: nullable(Seen),
      last: nullable(Seen),
      received: Counted,
      sent: Counted,
    }),
    etag: principalTag,
    long: true,
    cost: 1,
    handle: async ({ params: { principal }, read }) => {
      const { first, last, received, sent } = await read.activity.summary(principal);
      return { first: toSeen(first), last: toSeen(last), received: toCounted(received), sent: toCounted(sent) };
    },
  }),
  route({
    ...family,
    path: '/stackside/v1/principals/{principal}/balance-history',
    operationId: 'getPrincipalBalanceHistory',
    summary: 'Balance of a principal over time',
    description:
      'Returns the balance of STX, or of a fungible token, after blocks, oldest first: after each block that changed it if the principal has few transactions, else after 100 blocks that are evenly distributed since its first.',
    query: { asset_identifier: Type.Optional(AssetParameter) },
    response: named('PrincipalBalanceHistory', {
      complete: Type.Boolean({ description: 'Whether the response contains each block that changed the balance' }),
      points: Type.Array(named('BalancePoint', { block_height: Height, time: UnixTime, balance: SignedAmount })),
    }),
    etag: chainTip,
    long: true,
    cost: 1,
    handle: async ({ params: { principal }, query: { asset_identifier: asset = null }, read }) => {
      const { complete, points } = await read.activity.balances(principal, asset);
      return {
        complete,
        points: points.map(({ height, time, balance }) => ({ block_height: height, time, balance: String(balance) })),
      };
    },
  }),
  route({
    ...family,
    path: '/stackside/v1/principals/{principal}/history',
    operationId: 'getPrincipalHistory',
    summary: 'Account history of a principal',
    description:
      'Returns every movement of STX, fungible and non-fungible tokens, every fee and every mining reward of a principal, oldest first, with the balance of the asset after it. The response has no length limit and is streamed. It covers one chain: if a fork or a rebuild replaces a block that it covers, it ends early, with `complete: false` and the reason in JSON, and with a last record that begins with `INCOMPLETE` in CSV. Locked STX are part of the balance. Rewards that Bitcoin pays to stackers are not part of an account.',
    query: {
      ...periodQuery,
      format: Type.Union([Type.Literal('json'), Type.Literal('csv')], {
        default: 'json',
        description: 'Format of the response',
      }),
    },
    response: History,
    otherTypes: {
      'text/csv': `Records with the columns ${COLUMNS.join(', ')}. A text that a spreadsheet would take for a formula begins with an apostrophe.`,
    },
    etag: null,
    handle: ({ params: { principal }, query: { format, ...period }, read }) => {
      const walk = read.history.begin(principal, parsePeriod(period));
      return format === 'csv' ? streamCsv(principal, walk) : streamJson(principal, walk);
    },
  }),
];
