/** The bodies of the name system's routes. */
import { Type } from '@sinclair/typebox';
import { words } from '../shared/schemas/values.ts';

export const NameList = Type.Array(Type.String());

const found = {
  address: Type.String({ description: 'Owner' }),
  blockchain: Type.Literal('stacks'),
  last_txid: Type.String({ pattern: '^(0x[0-9a-f]{64})?$', description: 'Empty of what was before the chain' }),
  zonefile: Type.String({ description: 'Empty where it never reached this server' }),
  zonefile_hash: Type.String({ pattern: '^[0-9a-f]*$', description: 'Without 0x' }),
};

const Name = Type.Object({
  ...found,
  status: words('name-import', 'name-register', 'name-update', 'name-transfer', 'name-renewal', 'name-revoke'),
  expire_block: Type.Integer({ minimum: 0, description: 'Height at which its lease ends' }),
});

const Subdomain = Type.Object({
  ...found,
  status: Type.Literal('registered_subdomain'),
  resolver: Type.String({ description: 'URL; may be empty' }),
});

export const NameOrSubdomain = Type.Union([Name, Subdomain]);

export const Zonefile = Type.Object({ zonefile: Type.String() });

export const Price = Type.Object({
  units: Type.Literal('STX'),
  amount: Type.String({ pattern: '^[0-9]+$', description: 'micro-STX' }),
});
