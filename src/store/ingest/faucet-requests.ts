/** What the faucets gave, as long as it counts against their limits. */
import type { Database } from 'bun:sqlite';
import { inserter } from '../rows/table.ts';
import { faucetRequestsTable } from '../tables/bookkeeping.ts';

export type Currency = 'stx' | 'btc' | 'sbtc';

/** The table of requests, through a connection; what writes is called in a transaction. */
export interface FaucetRequestRows {
  /** How many there were of an address since a time, in Unix milliseconds. */
  count(currency: Currency, address: string, since: number): number;
  /** @param at Unix milliseconds */
  add(currency: Currency, address: string, at: number, ip: string): void;
  /** Forgets those before a time, in Unix milliseconds. */
  forgetBefore(time: number): void;
}

/** The requests, for those who serve faucets: each is written by itself, in the order of all that is written. */
export interface FaucetRequests extends Pick<FaucetRequestRows, 'count'> {
  add(...request: Parameters<FaucetRequestRows['add']>): Promise<void>;
  forgetBefore(...time: Parameters<FaucetRequestRows['forgetBefore']>): Promise<void>;
}

export function faucetRequests(db: Database): FaucetRequestRows {
  const count = db.prepare<{ requests: number }, [string, string, number]>(
    'SELECT count(*) AS requests FROM faucet_requests WHERE currency = ?1 AND address = ?2 AND requested_at > ?3',
  );
  const add = inserter(db, faucetRequestsTable);
  const forget = db.prepare<null, [number]>('DELETE FROM faucet_requests WHERE requested_at < ?1');
  return {
    count: (currency, address, since) => count.get(currency, address, since)?.requests ?? 0,
    add: (currency, address, at, ip) => add({ currency, address, requested_at: at, ip }),
    forgetBefore: (time) => void forget.run(time),
  };
}
