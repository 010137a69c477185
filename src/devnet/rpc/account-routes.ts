/** Accounts as a node gives them. */
import { principalBytes } from '../../codec/address.ts';
import { RpcError, type RpcRequest, type RpcRoute, withProof } from './rpc-route.ts';

const wide = (amount: bigint): string => `0x${amount.toString(16).padStart(32, '0')}`;

function account({ block, params: [principal = ''], query }: RpcRequest) {
  if (principalBytes(principal) === null) throw new RpcError(400, `${principal} is not a principal`);
  const { world, burnView } = block;
  const lock = world.locked(principal, burnView.height);
  const state = {
    balance: wide(world.spendable(principal, burnView.height)),
    locked: wide(lock?.amount ?? 0n),
    unlock_height: lock?.unlockHeight ?? 0,
    nonce: world.nonce(principal),
  };
  return withProof(state, query, 'balance_proof', 'nonce_proof');
}

export const accountRoutes: readonly RpcRoute[] = [{ method: 'GET', path: '/v2/accounts/*', answer: account }];
