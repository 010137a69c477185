import type { Static } from '@sinclair/typebox';
import type { FtBalance, Holder, NftInstance } from '../../../store/model/token.ts';
import { clarity } from '../../shared/serialize/values.ts';
import type {
  FtBalance as BalanceSchema,
  Holder as HolderSchema,
  NftInstance as InstanceSchema,
} from '../schemas/token.ts';

export const ftBalance = ({ asset, balance }: FtBalance): Static<typeof BalanceSchema> => ({
  asset_identifier: asset,
  balance,
});

export const nftInstance = ({ asset, value }: NftInstance): Static<typeof InstanceSchema> => ({
  asset_identifier: asset,
  value: clarity(value),
});

export const holder = ({ principal, balance }: Holder): Static<typeof HolderSchema> => ({ principal, balance });
