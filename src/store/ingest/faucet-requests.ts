/** Stores payouts of the faucets, for as long as they count against the limits. */
import type { Database } from 'bun:sqlite';
import { query } from '../rows/statement.ts';
import { inserter } from '../rows/table.ts';
import { faucetRequestsTable } from '../rows/tables.ts';

export type Currency = 'stx' | 'btc' | 'sbtc';

export type FaucetRequests = Pick<ReturnType<typeof faucetRequests>, 'count'>;

/** A payout of a faucet. */
interface Gift {
  currency: Currency;
  address: string;
  ip: string;
}

/** The commands of faucets. */
export const faucetCommands = ({ add, remove, forgetBefore }: ReturnType<typeof faucetRequests>) => ({
  /** @returns the time of the payout, in Unix milliseconds */
  'faucet.add'({ currency, address, ip }: Gift, time: number): number {
    add(currency, address, time, ip);
    return time;
  },
  /** Removes a payout that was not sent. `added`: the time that `faucet.add` returned. */
  'faucet.take_back': ({ currency, address, added }: Omit<Gift, 'ip'> & { added: number }): void =>
    remove(currency, address, added),
  /** `time` in Unix milliseconds. */
  'faucet.forget': ({ time }: { time: number }): void => forgetBefore(time),
});
export type FaucetCommands = ReturnType<typeof faucetCommands>;

/** The table of requests. Functions that write are called in a transaction. Times are Unix milliseconds. */
export function faucetRequests(db: Database) {
  const count = query<{ requests: number }, [string, string, number]>`
    SELECT count(*) AS requests FROM faucet_requests
     WHERE currency = ?1 AND address = ?2 AND requested_at > ?3`.prepared(db);
  const add = inserter(db, faucetRequestsTable);
  const remove = query<null, [string, string, number]>`
    DELETE FROM faucet_requests WHERE rowid =
      (SELECT rowid FROM faucet_requests
        WHERE currency = ?1 AND address = ?2 AND requested_at = ?3 LIMIT 1)`.prepared(db);
  const removeOld = query<null, [number]>`DELETE FROM faucet_requests WHERE requested_at < ?1`.prepared(db);
  return {
    /** Number of requests of an address since a time. */
    count: (currency: Currency, address: string, since: number): number =>
      count.get(currency, address, since)?.requests ?? 0,
    add: (currency: Currency, address: string, time: number, ip: string) =>
      add({ currency, address, requested_at: time, ip }),
    remove: (currency: Currency, address: string, time: number): void => void remove.run(currency, address, time),
    forgetBefore: (time: number): void => void removeOld.run(time),
  };
}
