import { clarity } from '../../codec/clarity-encode.ts';
import {
  type CallContext,
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  type Outcome,
  principalOf,
  publicFunction,
  readOnlyFunction,
  type Scene,
  uintOf,
} from '../contract.ts';
import { cycles } from '../pox.ts';
import * as staking from '../staking.ts';
import { sharedFunctions, sharedReads } from './pox-4.ts';

const call = (
  functionName: string,
  args: readonly Uint8Array[],
  run: (context: CallContext) => Outcome,
): ContractCall => ({ functionName, args, run });

/** Bonds that have not begun. */
const openBonds = ({ world, burnHeight }: Scene) =>
  world.staking.bonds.filter(({ firstCycle }) => burnHeight < cycles.startOf(firstCycle));

/** Picks a bond that the sender takes part in, if there is one. */
function someBond({ world, prng, sender }: Scene): number {
  const own = world.staking.positions.filter(({ staker }) => staker === sender);
  return own.length === 0 ? prng.below(world.staking.bonds.length + 1) : prng.pick(own).bond;
}

function someSigner({ world, prng, sender }: Scene): string {
  const { signers } = world.staking;
  return signers.length === 0 ? staking.signerOf(sender) : prng.pick(signers)[0];
}

const someAmount = ({ world, prng, sender, burnHeight }: Scene): bigint =>
  world.spendable(sender, burnHeight) / BigInt(prng.between(2, 5));

const proposals = {
  'setup-bond': ({ prng, sender, recipient }: Scene) => {
    const stakers = [sender, ...Array.from({ length: prng.between(2, 6) }, recipient)];
    const allowed = new Map(stakers.map((staker) => [staker, BigInt(prng.between(100_000, 50_000_000))]));
    const args = [clarity.list([...allowed.keys()].map((staker) => clarity.principal(staker)))];
    return call('setup-bond', args, (context) => staking.setUpBond(allowed, context));
  },
  'register-for-bond': (scene: Scene) => {
    const { prng, sender } = scene;
    const [signer, stx] = [someSigner(scene), someAmount(scene)];
    const bond = openBonds(scene).findLast(({ allowed }) => allowed.has(sender))?.index ?? someBond(scene);
    const outputs = prng.chance(0.5) ? null : Array.from({ length: prng.between(1, 3) }, () => prng.bytes(32));
    const args = [clarity.uint(bond), clarity.principal(signer), clarity.uint(stx)];
    return call('register-for-bond', args, (context) => staking.registerForBond(bond, signer, stx, outputs, context));
  },
  'update-bond-registration': (scene: Scene) => {
    const [bond, signer] = [someBond(scene), someSigner(scene)];
    const args = [clarity.uint(bond), clarity.principal(signer)];
    return call('update-bond-registration', args, (context) => staking.changeSigner(bond, signer, context));
  },
  'leave-bond': (scene: Scene) => {
    const bond = someBond(scene);
    const left = scene.prng.chance(0.5) ? 0n : BigInt(scene.prng.between(1, 100_000));
    const args = [clarity.uint(bond), clarity.uint(left)];
    return call('leave-bond', args, (context) => staking.leaveBond(bond, left, context));
  },
  stake: (scene: Scene) => {
    const [stx, period, signer] = [someAmount(scene), scene.prng.between(1, 12), someSigner(scene)];
    const args = [clarity.uint(stx), clarity.uint(period), clarity.principal(signer)];
    return call('stake', args, (context) => staking.stakeStx(stx, period, signer, context));
  },
  'change-stake': (scene: Scene) => {
    const { prng } = scene;
    const [increase, more] = [BigInt(prng.below(1_000_000)), prng.below(4)];
    const args = [clarity.uint(increase), clarity.uint(more)];
    return call('change-stake', args, (context) => staking.changeStake(increase, more, context));
  },
  'register-signer': ({ prng }: Scene) => {
    const [key, authId] = [Uint8Array.of(prng.between(2, 3), ...prng.bytes(32)), BigInt(prng.u32())];
    return call('register-signer', [clarity.buffer(key), clarity.uint(authId)], (context) =>
      staking.registerSigner(key, authId, context),
    );
  },
  'revoke-signer-grant': ({ world, prng, sender }: Scene) => {
    const { signers } = world.staking;
    const [signer, key] = signers.length === 0 ? [staking.signerOf(sender), prng.bytes(33)] : prng.pick(signers);
    return call('revoke-signer-grant', [clarity.principal(signer), clarity.buffer(key)], (context) =>
      staking.revokeKey(signer, key, context),
    );
  },
  'calculate-rewards': () => call('calculate-rewards', [], staking.calculateRewards),
  claim: ({ world, prng, sender }: Scene) => {
    const { owed } = world.staking;
    const [staker = sender, bond = ''] = owed.length === 0 ? [] : prng.pick(owed)[0].split(' ');
    const index = bond === '' ? null : Number(bond);
    const args = [clarity.principal(staker), index === null ? clarity.none() : clarity.some(clarity.uint(index))];
    return call('claim', args, (context) => staking.claim(staker, index, context));
  },
};

/** The contract of bonds and staking; its functions take fewer arguments here, and print what those of the chain do. */
export const pox5: ContractTemplate = {
  name: 'pox-5',
  clarityVersion: undefined,
  source: ';; The boot contract of staking; its source is not part of the simulation.\n',
  isPartial: true,
  abi: contractInterface({
    functions: [
      ...sharedFunctions,
      readOnlyFunction('get-bond-allowance', { 'bond-index': 'uint128', staker: 'principal' }, { optional: 'uint128' }),
      readOnlyFunction('get-signer-info', { signer: 'principal' }, { optional: { buffer: { length: 33 } } }),
      readOnlyFunction(
        'get-staker-info',
        { staker: 'principal' },
        {
          optional: {
            tuple: [
              { name: 'amount-ustx', type: 'uint128' },
              { name: 'first-reward-cycle', type: 'uint128' },
              { name: 'num-cycles', type: 'uint128' },
            ],
          },
        },
      ),
      publicFunction('calculate-rewards', {}),
      publicFunction('change-stake', { 'amount-increase': 'uint128', 'cycles-to-extend': 'uint128' }),
      publicFunction('claim', { staker: 'principal', 'bond-index': { optional: 'uint128' } }),
      publicFunction('leave-bond', { 'bond-index': 'uint128', 'new-amount-sats': 'uint128' }),
      publicFunction('register-for-bond', { 'bond-index': 'uint128', signer: 'principal', 'amount-ustx': 'uint128' }),
      publicFunction('register-signer', { 'signer-key': { buffer: { length: 33 } }, 'auth-id': 'uint128' }),
      publicFunction('revoke-signer-grant', {
        'signer-manager': 'principal',
        'signer-key': { buffer: { length: 33 } },
      }),
      publicFunction('setup-bond', { stakers: { list: { type: 'principal', length: 1000 } } }),
      publicFunction('stake', { 'amount-ustx': 'uint128', 'num-cycles': 'uint128', signer: 'principal' }),
      publicFunction('update-bond-registration', { 'bond-index': 'uint128', signer: 'principal' }),
    ],
  }),
  reads: {
    ...sharedReads,
    'get-bond-allowance': ({ world }, [bond, staker]) => {
      const index = uintOf(bond);
      const sats = world.staking.bonds.find((known) => BigInt(known.index) === index)?.allowed.get(principalOf(staker));
      return sats === undefined ? clarity.none() : clarity.some(clarity.uint(sats));
    },
    'get-signer-info': ({ world }, [signer]) => {
      const key = world.staking.signers.find(([known]) => known === principalOf(signer))?.[1];
      return key === undefined ? clarity.none() : clarity.some(clarity.buffer(key));
    },
    'get-staker-info': ({ world, burnHeight }, [staker]) => {
      const stake = world.staking.stake(principalOf(staker));
      if (stake === undefined || stake.unlockCycle <= cycles.of(burnHeight)) return clarity.none();
      const { firstCycle, unlockCycle, units } = stake;
      return clarity.some(
        clarity.tuple({
          'amount-ustx': clarity.uint(units.at(-1)?.units ?? 0n),
          'first-reward-cycle': clarity.uint(firstCycle),
          'num-cycles': clarity.uint(unlockCycle - firstCycle),
        }),
      );
    },
  },
  /** Picks an account that has a position in the last bond, or may have one. */
  holder(world, _, prng) {
    const bond = world.staking.bonds.at(-1);
    return bond === undefined ? undefined : prng.pick([...bond.allowed.keys()]);
  },
  propose(scene) {
    const { staking: state } = scene.world;
    const open = openBonds(scene).length > 0;
    const isDue = !state.isCalculated(cycles.halfOf(scene.burnHeight));
    const kind = scene.prng.weighted([
      [open ? 1 : 12, 'setup-bond'],
      [open ? 14 : 1, 'register-for-bond'],
      [2, 'update-bond-registration'],
      [3, 'leave-bond'],
      [4, 'stake'],
      [3, 'change-stake'],
      [2, 'register-signer'],
      [1, 'revoke-signer-grant'],
      [isDue ? 8 : 1, 'calculate-rewards'],
      [state.owed.length > 0 ? 8 : 1, 'claim'],
    ] as const);
    return proposals[kind](scene);
  },
};
