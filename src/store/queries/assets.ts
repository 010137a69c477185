/** What is asked of tokens by the texts that name them: principals and asset identifiers to their numbers. */

import type { Database } from 'bun:sqlite';
import type { BalanceChange } from '../model/account.ts';
import type { Cursor, Page } from '../model/page.ts';
import type { FtTransfer, Holder, Move, NftInstance, StxTransfer } from '../model/token.ts';
import { decimalOf } from '../rows/amounts.ts';
import { prepared } from '../rows/statement.ts';
import { balanceChangeQueries } from './balance-changes.ts';
import { balanceList } from './balance-lists.ts';
import { nftQueries } from './nfts.ts';
import { transferQueries } from './transfers.ts';

export const sql = {
  principal: 'SELECT id FROM principals WHERE address = ?1',
  asset: 'SELECT id FROM assets WHERE identifier = ?1',
  ftTokens: 'SELECT ft_tokens AS total FROM accounts WHERE principal_id = ?1',
  ftBalance: 'SELECT balance FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2',
  ftToken: 'SELECT supply, holders FROM ft_tokens WHERE asset_id = ?1',
  stx: 'SELECT stx_supply, stx_holders FROM totals',
  stxSupplyAt: 'SELECT supply FROM stx_supplies WHERE height <= ?1 ORDER BY height DESC LIMIT 1',
};

/** No principal or asset has this number: what is asked of it is empty. */
const NONE = 0;

export function assetReaders(db: Database) {
  const principalId = prepared<{ id: number }, [string]>(db, sql.principal);
  const assetId = prepared<{ id: number }, [string]>(db, sql.asset);
  const ftTokens = prepared<{ total: number }, [number]>(db, sql.ftTokens);
  const ftBalance = prepared<{ balance: string }, [number, number]>(db, sql.ftBalance);
  const ftToken = prepared<{ supply: string; holders: number }, [number]>(db, sql.ftToken);
  const stx = prepared<{ stx_supply: string; stx_holders: number }, []>(db, sql.stx);
  const stxSupplyAt = prepared<{ supply: string }, [number]>(db, sql.stxSupplyAt);
  const ftBalanceList = balanceList(db, 'ftBalances');
  const stxHolderList = balanceList(db, 'stxHolders');
  const ftHolderList = balanceList(db, 'ftHolders');
  const nfts = nftQueries(db);
  const changes = balanceChangeQueries(db);
  const transfers = transferQueries(db);

  const principalOf = (address: string): number => principalId.get(address)?.id ?? NONE;
  const assetOf = (identifier: string): number => assetId.get(identifier)?.id ?? NONE;
  const holder = (principal: string, balance: string) => ({ principal, balance });

  return {
    principals: {
      /** Tokens of which there is some: greatest balance first, then by identifier. */
      async ftBalances(
        principal: string,
        limit: number,
        at: Cursor | null,
      ): Promise<Page<{ asset: string; balance: string }>> {
        const id = principalOf(principal);
        const total = ftTokens.get(id)?.total ?? 0;
        return ftBalanceList(id, total, limit, at, (asset, balance) => ({ asset, balance }));
      },
      /** Base units, decimal; `0` where there are none. */
      async ftBalance(principal: string, asset: string): Promise<string> {
        const row = ftBalance.get(assetOf(asset), principalOf(principal));
        return row === null ? '0' : decimalOf(row.balance);
      },
      /** Non-fungible tokens by asset identifier, then value; those of one asset where that is given. */
      nftBalances: async (
        principal: string,
        asset: string | null,
        limit: number,
        at: Cursor | null,
      ): Promise<Page<NftInstance>> => nfts.ofOwner(principalOf(principal), asset, limit, at),
      /** Newest transaction first; of each STX, then fungible, then non-fungible tokens by identifier. */
      balanceChanges: async (
        principal: string,
        txIds: readonly Uint8Array[],
        limit: number,
        at: Cursor | null,
      ): Promise<Page<BalanceChange>> => changes.page(principalOf(principal), txIds, limit, at),
    },
    transfers: {
      stx: async (
        principal: string,
        direction: 'inbound' | 'outbound',
        limit: number,
        at: Cursor | null,
      ): Promise<Page<StxTransfer>> => transfers.stx(principalOf(principal), direction, limit, at),
      ft: async (principal: string, asset: string, limit: number, at: Cursor | null): Promise<Page<FtTransfer>> =>
        transfers.ft(assetOf(asset), principalOf(principal), limit, at),
      /** Transfers, mints and burns of a token by anybody, newest first. */
      ftOfAsset: async (asset: string, limit: number, at: Cursor | null): Promise<Page<FtTransfer, null>> =>
        transfers.ftOfAsset(assetOf(asset), limit, at),
    },
    tokens: {
      /** micro-STX ever minted and mined, less burnt; decimal. */
      stxSupply: async (): Promise<string> => stx.get()?.stx_supply ?? '0',
      /** STX supply after the block of a height. */
      stxSupplyAt: async (height: number): Promise<string> => stxSupplyAt.get(height)?.supply ?? '0',
      /** Base units, decimal; `0` for an unknown token. */
      ftSupply: async (asset: string): Promise<string> => ftToken.get(assetOf(asset))?.supply ?? '0',
      /** Greatest balance first, then by address. */
      stxHolders: async (limit: number, at: Cursor | null): Promise<Page<Holder>> =>
        stxHolderList(NONE, stx.get()?.stx_holders ?? 0, limit, at, holder),
      async ftHolders(asset: string, limit: number, at: Cursor | null): Promise<Page<Holder>> {
        const id = assetOf(asset);
        return ftHolderList(id, ftToken.get(id)?.holders ?? 0, limit, at, holder);
      },
      /** Every event of an instance, newest first. */
      nftHistory: async (asset: string, value: Uint8Array, limit: number, at: Cursor | null): Promise<Page<Move>> =>
        transfers.nft(assetOf(asset), value, limit, at),
    },
  };
}
