/** What is asked of tokens by the texts that name them: principals and asset identifiers to their numbers. */
import type { Database } from 'bun:sqlite';
import type { Page } from '../model/page.ts';
import type { Reader } from '../model/reader.ts';
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

type Of<Group extends keyof Reader, Name extends keyof Reader[Group]> = Pick<Reader[Group], Name>;

export interface AssetReaders {
  principals: Of<'principals', 'ftBalances' | 'ftBalance' | 'nftBalances' | 'balanceChanges'>;
  transfers: Reader['transfers'];
  tokens: Reader['tokens'];
}

export function assetReaders(db: Database): AssetReaders {
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
      async ftBalances(principal, limit, from): Promise<Page<{ asset: string; balance: string }>> {
        const id = principalOf(principal);
        const total = ftTokens.get(id)?.total ?? 0;
        return ftBalanceList(id, total, limit, from, (asset, balance) => ({ asset, balance }));
      },
      async ftBalance(principal, asset) {
        const row = ftBalance.get(assetOf(asset), principalOf(principal));
        return row === null ? '0' : decimalOf(row.balance);
      },
      nftBalances: async (principal, asset, limit, from) => nfts.ofOwner(principalOf(principal), asset, limit, from),
      balanceChanges: async (principal, txIds, limit, from) => changes.page(principalOf(principal), txIds, limit, from),
    },
    transfers: {
      stx: async (principal, direction, limit, from) => transfers.stx(principalOf(principal), direction, limit, from),
      ft: async (principal, asset, limit, from) => transfers.ft(assetOf(asset), principalOf(principal), limit, from),
    },
    tokens: {
      stxSupply: async () => stx.get()?.stx_supply ?? '0',
      stxSupplyAt: async (height) => stxSupplyAt.get(height)?.supply ?? '0',
      ftSupply: async (asset) => ftToken.get(assetOf(asset))?.supply ?? '0',
      stxHolders: async (limit, from) => stxHolderList(NONE, stx.get()?.stx_holders ?? 0, limit, from, holder),
      async ftHolders(asset, limit, from) {
        const id = assetOf(asset);
        return ftHolderList(id, ftToken.get(id)?.holders ?? 0, limit, from, holder);
      },
      nftHistory: async (asset, value, limit, from) => transfers.nft(assetOf(asset), value, limit, from),
    },
  };
}
