/** A search of the chain's transactions in which those of streamed microblocks have their places too. */
import type { OffsetPage } from '../model/page.ts';
import type { TransactionDetail, TransactionFilter, TransactionOrder } from '../model/transaction.ts';
import type { StreamedQueries } from './streamed.ts';

type Search = (
  filter: TransactionFilter,
  order: TransactionOrder,
  limit: number,
  offset: number,
) => OffsetPage<TransactionDetail>;

function matches(of: TransactionDetail, filter: TransactionFilter): boolean {
  const { payload } = of;
  const call = payload.type === 'contract_call' ? payload : null;
  const paid = payload.type === 'token_transfer' ? payload.recipient : null;
  return (
    (filter.types === null || filter.types.includes(payload.type)) &&
    (filter.sender === null || filter.sender === of.sender.address) &&
    (filter.recipient === null || filter.recipient === paid) &&
    (filter.contract === null || filter.contract === call?.contractId) &&
    (filter.functionName === null || filter.functionName === call?.functionName) &&
    (filter.nonce === null || BigInt(filter.nonce) === of.sender.nonce) &&
    (filter.since === null || filter.since <= of.burnBlock.time) &&
    (filter.until === null || filter.until >= of.burnBlock.time)
  );
}

const keyOf = (of: TransactionDetail, by: TransactionOrder['by']): bigint =>
  by === 'fee' ? BigInt(of.fee) : by === 'burn_block_time' ? BigInt(of.burnBlock.time) : BigInt(of.block.height);

/** Streamed transactions are newer than all of the chain: of equals they come last, or first where the newest does. */
export const withStreamed =
  (search: Search, streamed: StreamedQueries) =>
  async (
    filter: TransactionFilter,
    order: TransactionOrder,
    limit: number,
    offset: number,
    asked: boolean,
  ): Promise<OffsetPage<TransactionDetail>> => {
    const waiting = asked
      ? streamed
          .transactions()
          .map(({ detail }) => detail)
          .filter((of) => matches(of, filter))
      : [];
    if (waiting.length === 0) return search(filter, order, limit, offset);
    // Each of the page is among these: a streamed one, or no farther from the page than there are streamed ones.
    const first = Math.max(0, offset - waiting.length);
    const page = search(filter, order, limit + waiting.length, first);
    const both = [...page.items, ...waiting].map((of, age) => ({ of, age, key: keyOf(of, order.by) }));
    const sign = order.direction === 'asc' ? 1 : -1;
    // Rows came in their order, so among equals the place tells the age; a streamed one is newer than any row.
    const isNew = (age: number) => age >= page.items.length;
    both.sort((a, b) => {
      if (a.key !== b.key) return a.key < b.key ? -sign : sign;
      if (isNew(a.age) !== isNew(b.age)) return isNew(a.age) ? sign : -sign;
      return isNew(a.age) ? sign * (a.age - b.age) : a.age - b.age;
    });
    // Those that stand before the first row that was read stand before the page as well.
    const ahead = Math.max(0, offset - first);
    return {
      items: both.slice(ahead, ahead + limit).map(({ of }) => of),
      total: page.total + waiting.length,
    };
  };
