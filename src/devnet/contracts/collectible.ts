import { clarity } from '../../codec/clarity-encode.ts';
import {
  type ContractTemplate,
  contractInterface,
  err,
  interfaceOf,
  ok,
  okOf,
  publicFunction,
  readOnlyFunction,
  userCall,
  type WorldView,
} from '../contract.ts';
import type { Prng } from '../prng.ts';
import { nonFungibleCondition, postConditions } from '../transaction.ts';

const tokenName = 'card';
const assetOf = (contract: string): string => `${contract}::${tokenName}`;
const notTokenOwner = 4n;
/** Errors of `nft-transfer?` and `nft-burn?`. */
const notOwned = 1n;
const toItself = 2n;
const unknownToken = 3n;

/** The document of each token (SIP-016). Readers replace `{id}`. */
const tokenUri = `data:application/json,${JSON.stringify({
  sip: 16,
  name: 'Card {id}',
  description: 'A card of the demo',
  image: 'ipfs://bafydemo/{id}.png',
  attributes: [{ trait_type: 'Number', value: '{id}' }],
})}`;

const functions = {
  burn: publicFunction({ id: 'uint128' }, ({ world, contract, sender }, { id }) => {
    const [asset, value] = [assetOf(contract), clarity.uint(id)];
    const owner = world.ownerOf(asset, value);
    if (owner !== sender) return err(owner === undefined ? unknownToken : notOwned);
    return ok(clarity.bool(true), { type: 'nft_burn_event', asset, sender, value });
  }),
  mint: publicFunction(
    { recipient: 'principal' },
    ({ world, contract }, { recipient }) => {
      const asset = assetOf(contract);
      const id = clarity.uint(world.mintedOf(asset) + 1);
      const notice = clarity.tuple({
        notification: clarity.ascii('token-metadata-update'),
        payload: clarity.tuple({ 'token-class': clarity.ascii('nft'), 'token-ids': clarity.list([id]) }),
      });
      return ok(
        id,
        { type: 'nft_mint_event', asset, recipient, value: id },
        { type: 'contract_event', contract, value: notice },
      );
    },
    'uint128',
  ),
  transfer: publicFunction(
    { id: 'uint128', sender: 'principal', recipient: 'principal' },
    ({ world, contract, ...context }, { id, sender, recipient }) => {
      const [asset, value] = [assetOf(contract), clarity.uint(id)];
      if (sender !== context.sender) return err(notTokenOwner);
      if (sender === recipient) return err(toItself);
      const owner = world.ownerOf(asset, value);
      if (owner !== sender) return err(owner === undefined ? unknownToken : notOwned);
      return ok(clarity.bool(true), { type: 'nft_transfer_event', asset, sender, recipient, value });
    },
  ),
  'get-last-token-id': readOnlyFunction({}, okOf('uint128'), ({ world, contract }) =>
    clarity.ok(clarity.uint(world.mintedOf(assetOf(contract)))),
  ),
  'get-token-uri': readOnlyFunction(
    { id: 'uint128' },
    okOf({ optional: { 'string-ascii': { length: tokenUri.length } } }),
    () => clarity.ok(clarity.some(clarity.ascii(tokenUri))),
  ),
  'get-owner': readOnlyFunction({ id: 'uint128' }, okOf({ optional: 'principal' }), ({ world, contract }, { id }) => {
    const owner = world.ownerOf(assetOf(contract), clarity.uint(id));
    return clarity.ok(owner === undefined ? clarity.none() : clarity.some(clarity.principal(owner)));
  }),
};

/** A non-fungible token (SIP-009) with consecutive ids. */
export const collectible: ContractTemplate = {
  name: 'collectible',
  clarityVersion: 2,
  source: `;; A non-fungible token (SIP-009) with running numbers.
(define-non-fungible-token ${tokenName} uint)
(define-data-var last-id uint u0)

(define-public (mint (recipient principal))
  (let ((id (+ (var-get last-id) u1)))
    (var-set last-id id)
    (try! (nft-mint? ${tokenName} id recipient))
    (print { notification: "token-metadata-update", payload: { token-class: "nft", token-ids: (list id) } })
    (ok id)))

(define-public (transfer (id uint) (sender principal) (recipient principal))
  (if (is-eq tx-sender sender) (nft-transfer? ${tokenName} id sender recipient) (err u4)))

(define-public (burn (id uint))
  (nft-burn? ${tokenName} id tx-sender))

(define-read-only (get-owner (id uint))
  (ok (nft-get-owner? ${tokenName} id)))

(define-read-only (get-last-token-id) (ok (var-get last-id)))
(define-read-only (get-token-uri (id uint)) (ok (some ${JSON.stringify(tokenUri)})))
`,
  abi: contractInterface({
    clarity_version: 'Clarity2',
    functions: interfaceOf(functions),
    non_fungible_tokens: [{ name: tokenName, type: 'uint128' }],
    variables: [{ access: 'variable', name: 'last-id', type: 'uint128' }],
  }),
  functions,
  holder: (world, contract, prng) => pickToken(world, assetOf(contract), prng)?.owner,
  propose({ prng, world, contract, sender, recipient }) {
    const asset = assetOf(contract);
    const token = pickToken(world, asset, prng, sender);
    if (token !== undefined && prng.chance(0.7)) {
      return prng.chance(0.2)
        ? userCall(functions, 'burn', { id: token.id })
        : transfer(contract, token.id, sender, recipient());
    }
    // Sometimes an account tries to move another account's token, and fails.
    const foreignToken = prng.chance(0.1) ? pickToken(world, asset, prng) : undefined;
    return foreignToken === undefined
      ? userCall(functions, 'mint', { recipient: sender })
      : transfer(contract, foreignToken.id, sender, recipient());
  },
  empty({ prng, world, contract, sender, recipient }) {
    const asset = assetOf(contract);
    const token = pickToken(world, asset, prng, sender);
    if (token === undefined) return undefined;
    return prng.chance(0.5)
      ? userCall(functions, 'burn', { id: token.id })
      : transfer(contract, token.id, sender, recipient());
  },
  variables: { 'last-id': ({ world, contract }) => clarity.uint(world.mintedOf(assetOf(contract))) },
};

/** Picks a recent token that isn't burnt; a token of `owner`, if given. */
function pickToken(
  world: WorldView,
  asset: string,
  prng: Prng,
  owner?: string,
): { id: bigint; owner: string } | undefined {
  const minted = world.mintedOf(asset);
  const tries = Math.min(minted, 24);
  for (let i = 0; i < tries; i++) {
    const id = BigInt(owner === undefined ? minted - prng.below(tries) : minted - i);
    const ownerOfToken = world.ownerOf(asset, clarity.uint(id));
    if (ownerOfToken !== undefined && (owner === undefined || ownerOfToken === owner))
      return { id, owner: ownerOfToken };
  }
  return undefined;
}

const transfer = (contract: string, id: bigint, sender: string, recipient: string) =>
  userCall(
    functions,
    'transfer',
    { id, sender, recipient },
    { postConditions: postConditions([nonFungibleCondition(sender, assetOf(contract), clarity.uint(id))]) },
  );
