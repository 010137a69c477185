/** Tokens: who has how much of what. */
import { Type } from '@sinclair/typebox';
import { Amount, ClarityPair, Principal } from '../../shared/schemas/values.ts';

const asset_identifier = Type.String();

export const FtBalance = Type.Object({ asset_identifier, balance: Amount }, { $id: 'FtBalance' });

export const NftInstance = Type.Object({ asset_identifier, value: ClarityPair }, { $id: 'NftInstance' });

export const Holder = Type.Object({ principal: Principal, balance: Amount }, { $id: 'Holder' });

export const StxSupply = Type.Object({ total: Amount, projected_total_2050: Amount }, { $id: 'StxSupply' });

export const FtSupply = Type.Object({ asset_identifier, total: Amount }, { $id: 'FtSupply' });
