/** The bodies of the name system's routes. */
import { Type } from '@sinclair/typebox';
import { words } from '../shared/values.ts';

export const NameList = Type.Array(Type.String(), { $id: 'NameList' });

const found = {
  address: Type.String({ description: 'Address of the owner' }),
  blockchain: Type.Literal('stacks'),
  last_txid: Type.String({
    pattern: '^(0x[0-9a-f]{64})?$',
    description: 'Transaction of the last operation; empty for names imported at genesis',
  }),
  zonefile: Type.String({ description: 'Text of the zonefile; empty if this server never received it' }),
  zonefile_hash: Type.String({ pattern: '^[0-9a-f]*$', description: 'Hash of the zonefile in hex, without 0x' }),
};

const Name = Type.Object(
  {
    ...found,
    status: words('name-import', 'name-register', 'name-update', 'name-transfer', 'name-renewal', 'name-revoke'),
    expire_block: Type.Integer({ minimum: 0, description: 'Bitcoin height at which the lease of the name ends' }),
  },
  { $id: 'Name' },
);

const Subdomain = Type.Object(
  {
    ...found,
    status: Type.Literal('registered_subdomain'),
    resolver: Type.String({ description: 'URL of the resolver for subdomains; may be empty' }),
  },
  { $id: 'Subdomain' },
);

export const NameOrSubdomain = Type.Union([Name, Subdomain], { $id: 'NameOrSubdomain' });

export const Zonefile = Type.Object({ zonefile: Type.String() }, { $id: 'Zonefile' });

export const Price = Type.Object(
  {
    units: Type.Literal('STX'),
    amount: Type.String({ pattern: '^[0-9]+$', description: 'Price in micro-STX' }),
  },
  { $id: 'NamePrice' },
);
