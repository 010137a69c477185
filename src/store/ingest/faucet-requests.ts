/** Gifts of the faucets, for as long as they count against the limits. */
import type { Database } from 'bun:sqlite';
import { inserter } from '../rows/table.ts';
import { faucetRequestsTable } from '../rows/tables.ts';

export type Currency = 'stx' | 'btc' | 'sbtc';

/** The table of requests. Functions that write are called in a transaction. */
interface FaucetRequestRows {
  /** Number of requests of an address since a time, in Unix milliseconds. */
  count(currency: Currency, address: string, since: number): number;
  /** @param at Unix milliseconds */
  add(currency: Currency, address: string, at: number, ip: string): void;
  /** Removes a request that was added at a time, in Unix milliseconds. */
  remove(currency: Currency, address: string, at: number): void;
  /** Removes requests before a time, in Unix milliseconds. */
  forgetBefore(time: number): void;
}

/** The requests, for the faucets' routes. */
export type FaucetRequests = Pick<FaucetRequestRows, 'count'>;

/** A gift of a faucet. */
interface Gift {
  currency: Currency;
  address: string;
  ip: string;
}

/** The commands of faucets. */
export const faucetCommands = ({ add, remove, forgetBefore }: FaucetRequestRows) => ({
  /** @returns the time of the gift, in Unix milliseconds */
  'faucet.add'({ currency, address, ip }: Gift, at: number): number {
    add(currency, address, at, ip);
    return at;
  },
  /** Rolls back a gift that was not sent. `added`: what `faucet.add` returned. */
  'faucet.take_back': ({ currency, address, added }: Omit<Gift, 'ip'> & { added: number }): void =>
    remove(currency, address, added),
  /** `time` in Unix milliseconds. */
  'faucet.forget': ({ time }: { time: number }): void => forgetBefore(time),
});
export type FaucetCommands = ReturnType<typeof faucetCommands>;

export function faucetRequests(db: Database): FaucetRequestRows {
  const count = db.prepare<{ requests: number }, [string, string, number]>(
    'SELECT count(*) AS requests FROM faucet_requests WHERE currency = ?1 AND address = ?2 AND requested_at > ?3',
  );
  const add = inserter(db, faucetRequestsTable);
  const remove = db.prepare<null, [string, string, number]>(
    `DELETE FROM faucet_requests WHERE rowid =
       (SELECT rowid FROM faucet_requests WHERE currency = ?1 AND address = ?2 AND requested_at = ?3 LIMIT 1)`,
  );
  const forget = db.prepare<null, [number]>('DELETE FROM faucet_requests WHERE requested_at < ?1');
  return {
    count: (currency, address, since) => count.get(currency, address, since)?.requests ?? 0,
    add: (currency, address, at, ip) => add({ currency, address, requested_at: at, ip }),
    remove: (currency, address, at) => void remove.run(currency, address, at),
    forgetBefore: (time) => void forget.run(time),
  };
}
