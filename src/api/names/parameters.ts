/** What the requests of the name system hold. */
import { Type } from '@sinclair/typebox';
import { fromHex, toHex } from '../../codec/hex.ts';
import { NAMES_OF_PAGE } from '../../store/model/name.ts';
import { MOST_ENTRIES } from '../../store/rows/statement.ts';
import { example } from '../shared/examples/examples.ts';

/** Any text: what is no name is one that nobody has. */
export const Name = Type.String({
  description: 'Name with its namespace, such as `alice.btc`, or subdomain, such as `joe.alice.btc`',
  examples: example('name'),
});

export const Namespace = Type.String({ description: 'Namespace, such as `btc`', examples: example('namespace') });

export const ZonefileHash = Type.Transform(
  Type.String({
    pattern: '^(0x)?([a-fA-F0-9]{2})+$',
    description: 'Hash of the zonefile in hex, with or without 0x',
    examples: example('zonefile_hash'),
  }),
)
  .Decode(fromHex)
  .Encode(toHex);

/** Microblocks, which it asked for, are no more: it changes nothing. */
export const unanchored = {
  unanchored: Type.Boolean({
    default: false,
    description: 'Once included unconfirmed microblocks (Stacks 2.x); has no effect',
  }),
};

export const paged = {
  page: Type.Integer({
    minimum: 0,
    maximum: MOST_ENTRIES / NAMES_OF_PAGE,
    default: 0,
    description: `Number of the page, from 0; a page has ${NAMES_OF_PAGE} names`,
  }),
};
