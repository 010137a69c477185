/** The ends of a period, as a query names them: by height, by day or by time. */
import { Type } from '@sinclair/typebox';
import { utcMicroseconds } from '../../base/utc-time.ts';
import { ParameterError } from '../../http/errors.ts';
import { InvalidValue } from '../../http/value-reader.ts';
import type { Bound, Period } from '../../store/model/account.ts';
import { example } from '../shared/examples/examples.ts';

const SECONDS_OF_A_DAY = 86_400;

/** @throws InvalidValue for a day or an hour that no calendar or clock has */
function secondsOf(text: string): number {
  const time = utcMicroseconds(text);
  if (time === null) throw new InvalidValue('date', 'no calendar has this day or time');
  return Math.floor(time / 1_000_000);
}

const isHeight = (text: string): boolean => /^[0-9]+$/.test(text);
const isDay = (text: string): boolean => text.length === '2026-01-31'.length;

const fromOf = (text: string): Bound => (isHeight(text) ? { height: Number(text) } : { time: secondsOf(text) });

function toOf(text: string): Bound {
  if (isHeight(text)) return { height: Number(text) };
  const time = secondsOf(text);
  return { time: isDay(text) ? time + SECONDS_OF_A_DAY - 1 : time };
}

const bound = (decode: (text: string) => Bound, description: string) =>
  Type.Optional(
    Type.Transform(
      Type.String({
        pattern: '^([0-9]{1,15}|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?)$',
        description,
        examples: example('block_height').map(String),
      }),
    )
      .Decode(decode)
      .Encode((end) => String('height' in end ? end.height : end.time)),
  );

/** Query parameters of a route that answers for a period. */
export const periodQuery = {
  from: bound(
    fromOf,
    'First block (default: that of the chain): a height, a day in UTC (`2026-01-31`) or a time (`2026-01-31T12:00:00Z`). A day or a time means the first block whose time is that or later.',
  ),
  to: bound(
    toOf,
    'Last block, which is included (default: the tip): a height, a day in UTC, which is included whole, or a time. A day or a time means the block before the first one whose time is later.',
  ),
};

/** The period of a query. @throws ParameterError where it ends before it begins */
export function periodOf({ from, to }: { from?: Bound; to?: Bound }): Period {
  if (from !== undefined && to !== undefined && isBefore(to, from)) {
    throw new ParameterError({ place: 'querystring', path: ['to'] }, 'must not be before from');
  }
  return { from: from ?? null, to: to ?? null };
}

/** A height and a time can't be told apart without the chain: a period of both may be empty. */
const isBefore = (a: Bound, b: Bound): boolean =>
  'height' in a ? 'height' in b && a.height < b.height : 'time' in b && a.time < b.time;
