/** Search as you type. Only Stackside has this route: v1's search finds only whole ids. */
import { type Static, Type } from '@sinclair/typebox';
import { assetNameOf, contractNameOf, MAX_ASSET_LENGTH } from '../../codec/address.ts';
import { toHex } from '../../codec/hex.ts';
import { type Route, route } from '../../http/route.ts';
import { foundKinds, matches, type SearchResult } from '../../store/queries/search.ts';
import { Height, named, nullable, words } from '../shared/fields.ts';
import { bnsContractOf } from './bns-names.ts';

const Item = named('FoundItem', {
  kind: { ...words(...foundKinds), $id: 'FoundKind' },
  match: words(...matches),
  id: Type.String({
    description:
      'Identifier for other routes: an index block hash, the hash of a Bitcoin block, a transaction id, an address, an asset identifier, a contract identifier, or a name',
  }),
  label: Type.String({ description: 'Name of the result' }),
  detail: nullable(Type.String(), { description: 'Text that distinguishes it from others with this label' }),
  block_height: nullable(Height, {
    description: 'Height of the block, of the Bitcoin block, or of the block of the transaction',
  }),
});

const Results = named('FoundItems', { results: Type.Array(Item) });

const joinTexts = (...texts: (string | null)[]): string => texts.filter((text) => text !== null).join(', ');

/** @param ownerOf returns the owner of a BNS-V2 name */
function item(result: SearchResult, ownerOf: (name: string) => string | null): Static<typeof Item> {
  const { kind, match, id } = result;
  const common = { kind, match, block_height: null, id };
  switch (result.kind) {
    case 'block': {
      const { hash, height, canonical } = result;
      const label = canonical ? `Block ${height}` : `Orphaned block ${height}`;
      return { ...common, label, detail: toHex(hash), block_height: height };
    }
    case 'burn_block':
      return { ...common, label: `Bitcoin block ${result.height}`, detail: id, block_height: result.height };
    case 'transaction': {
      const { type, status, height } = result;
      const block = height === null ? null : `block ${height}`;
      const detail = type === null ? 'in orphaned blocks' : joinTexts(type, status, block).replaceAll('_', ' ');
      return { ...common, label: id, detail, block_height: height };
    }
    case 'address':
      return { ...common, label: id, detail: result.bitcoinAddress };
    case 'token':
      return { ...common, label: joinTexts(...new Set([result.symbol, result.name])) || assetNameOf(id), detail: id };
    case 'contract':
      return { ...common, label: contractNameOf(id), detail: id };
    case 'bns_name':
      return { ...common, label: id, detail: ownerOf(id) };
    case 'bitcoin_address':
    case 'name':
      return { ...common, label: id, detail: null };
  }
}

/** @param namesContract contract of the second name system; null for the contract of the network */
export const searches = (namesContract: string | null): readonly Route[] => [
  route({
    path: '/stackside/v1/search',
    operationId: 'search',
    summary: 'Search by a part of a name or id',
    description:
      'Returns matches for a text while the user types: contracts and tokens by any part of their names, symbols and asset names, names of both name systems by prefix, transactions and blocks by six or more hex digits, addresses and contract identifiers by six or more characters, heights, and Bitcoin addresses, with the Stacks address of the same key. Case does not matter. Exact matches come first, then matches at the beginning, then other matches. Orphaned blocks and transactions are found only by their whole id. Each search reads a bounded number of rows: if very many things match, a longer text finds the others.',
    tag: 'Stackside',
    query: {
      q: Type.String({ maxLength: MAX_ASSET_LENGTH, description: 'Text to search for', examples: ['token'] }),
      limit: Type.Integer({ minimum: 1, maximum: 50, default: 20, description: 'Maximum number of results' }),
    },
    response: Results,
    etag: null,
    history: 'since',
    handle: ({ query: { q, limit }, read }) => {
      const contract = bnsContractOf(namesContract, read);
      const ownerOf = (name: string) => read.bnsNames.find(contract, name)?.owner ?? null;
      return { results: read.search(q, limit, contract).map((result) => item(result, ownerOf)) };
    },
  }),
];
