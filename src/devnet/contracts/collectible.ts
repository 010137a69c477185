import { clarity } from '../../codec/clarity-encode.ts';
import {
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  err,
  ok,
  principalOf,
  publicFunction,
  readOnlyFunction,
  type WorldView,
} from '../contract.ts';
import type { Prng } from '../prng.ts';
import { nonFungibleCondition, postConditions } from '../transaction.ts';

const tokenName = 'card';
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
    functions: [
      publicFunction('burn', { id: 'uint128' }),
      publicFunction('mint', { recipient: 'principal' }, 'uint128'),
      publicFunction('transfer', { id: 'uint128', sender: 'principal', recipient: 'principal' }),
      readOnlyFunction('get-last-token-id', {}, { response: { ok: 'uint128', error: 'none' } }),
      readOnlyFunction(
        'get-token-uri',
        { id: 'uint128' },
        { response: { ok: { optional: { 'string-ascii': { length: tokenUri.length } } }, error: 'none' } },
      ),
      readOnlyFunction('get-owner', { id: 'uint128' }, { response: { ok: { optional: 'principal' }, error: 'none' } }),
    ],
    non_fungible_tokens: [{ name: tokenName, type: 'uint128' }],
    variables: [{ access: 'variable', name: 'last-id', type: 'uint128' }],
  }),
  holder(world, contract, prng) {
    const token = someToken(world, `${contract}::${tokenName}`, prng);
    return token?.owner;
  },
  propose({ prng, world, contract, sender, recipient }) {
    const asset = `${contract}::${tokenName}`;
    const owned = someToken(world, asset, prng, sender);
    if (owned !== undefined && prng.chance(0.7)) {
      return prng.chance(0.2) ? burn(owned.id) : transfer(contract, owned.id, sender, recipient());
    }
    // Sometimes an account tries to move another account's token, and fails.
    const foreign = prng.chance(0.1) ? someToken(world, asset, prng) : undefined;
    return foreign === undefined ? mint(sender) : transfer(contract, foreign.id, sender, recipient());
  },
  empty({ prng, world, contract, sender, recipient }) {
    const asset = `${contract}::${tokenName}`;
    const owned = someToken(world, asset, prng, sender);
    if (owned === undefined) return undefined;
    return prng.chance(0.5) ? burn(owned.id) : transfer(contract, owned.id, sender, recipient());
  },
  calls: {
    mint: ([recipient]) => mint(principalOf(recipient)),
    burn: ([id]) => burn(id!.bytes),
    transfer: ([id, sender, recipient]) => ({ run: moving(id!.bytes, principalOf(sender), principalOf(recipient)) }),
  },
  reads: {
    'get-last-token-id': ({ world, contract }) => clarity.ok(clarity.uint(world.mintedOf(`${contract}::${tokenName}`))),
    'get-token-uri': () => clarity.ok(clarity.some(clarity.ascii(tokenUri))),
    'get-owner': ({ world, contract }, [id]) => {
      const owner = world.ownerOf(`${contract}::${tokenName}`, id!.bytes);
      return clarity.ok(owner === undefined ? clarity.none() : clarity.some(clarity.principal(owner)));
    },
  },
  variables: { 'last-id': ({ world, contract }) => clarity.uint(world.mintedOf(`${contract}::${tokenName}`)) },
};

/** Picks a recent token that isn't burnt; a token of `owner`, if given. */
function someToken(
  world: WorldView,
  asset: string,
  prng: Prng,
  owner?: string,
): { id: Uint8Array; owner: string } | undefined {
  const minted = world.mintedOf(asset);
  const tries = Math.min(minted, 24);
  for (let i = 0; i < tries; i++) {
    const id = clarity.uint(owner === undefined ? minted - prng.below(tries) : minted - i);
    const ownerOfToken = world.ownerOf(asset, id);
    if (ownerOfToken !== undefined && (owner === undefined || ownerOfToken === owner))
      return { id, owner: ownerOfToken };
  }
  return undefined;
}

function mint(recipient: string): ContractCall {
  return {
    functionName: 'mint',
    args: [clarity.principal(recipient)],
    run: ({ world, contract }) => {
      const asset = `${contract}::${tokenName}`;
      const id = clarity.uint(BigInt(world.mintedOf(asset) + 1));
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
  };
}

function burn(id: Uint8Array): ContractCall {
  return {
    functionName: 'burn',
    args: [id],
    run: ({ world, contract, sender }) => {
      const asset = `${contract}::${tokenName}`;
      const owner = world.ownerOf(asset, id);
      if (owner !== sender) return err(owner === undefined ? unknownToken : notOwned);
      return ok(clarity.bool(true), { type: 'nft_burn_event', asset, sender, value: id });
    },
  };
}

function transfer(contract: string, id: Uint8Array, from: string, recipient: string): ContractCall {
  const asset = `${contract}::${tokenName}`;
  return {
    functionName: 'transfer',
    args: [id, clarity.principal(from), clarity.principal(recipient)],
    postConditions: postConditions([nonFungibleCondition(from, asset, id)]),
    run: moving(id, from, recipient),
  };
}

const moving =
  (id: Uint8Array, from: string, recipient: string): ContractCall['run'] =>
  ({ world, contract, sender }) => {
    const asset = `${contract}::${tokenName}`;
    if (sender !== from) return err(notTokenOwner);
    if (from === recipient) return err(toItself);
    const owner = world.ownerOf(asset, id);
    if (owner !== from) return err(owner === undefined ? unknownToken : notOwned);
    return ok(clarity.bool(true), { type: 'nft_transfer_event', asset, sender: from, recipient, value: id });
  };
