import type { Static } from '@sinclair/typebox';
import type { FtBalance, Holder, NftInstance } from '../../../store/model/token.ts';
import { clarity } from '../../shared/serialize/values.ts';
import type {
  FtBalance as BalanceSchema,
  Holder as HolderSchema,
  NftInstance as InstanceSchema,
} from '../schemas/token.ts';

/** A balance of a fungible token, in base units. */
export const ftBalance = ({ asset, balance }: FtBalance): Static<typeof BalanceSchema> => ({
  asset_identifier: asset,
  balance,
});

/** An instance of a non-fungible token. */
export const nftInstance = ({ asset, value }: NftInstance): Static<typeof InstanceSchema> => ({
  asset_identifier: asset,
  value: clarity(value),
});

/** A principal that holds a token, with its balance in base units. */
export const holder = ({ principal, balance }: Holder): Static<typeof HolderSchema> => ({ principal, balance });
