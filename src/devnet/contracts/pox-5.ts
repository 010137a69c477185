/** pox-5: its interface, made-up calls of users, and the simulated functions. Amounts are micro-STX or sats. */
import { clarity } from '../../codec/clarity-encode.ts';
import {
  type CallContext,
  type ChainEvent,
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  err,
  interfaceOf,
  type Outcome,
  ok,
  publicFunction,
  readOnlyFunction,
  type Scene,
  tupleType,
} from '../contract.ts';
import { cycles } from '../pox.ts';
import {
  isOn,
  type OwedShare,
  owedTo,
  type SimulatedPosition,
  type SimulatedStake,
  type StakingMove,
  unitsIn,
} from '../staking-state.ts';
import { sharedFunctions } from './pox-4.ts';

/** Type of a signer's key. */
const key = { buffer: { length: 33 } };

const call = (
  functionName: string,
  args: readonly Uint8Array[],
  run: (context: CallContext) => Outcome,
): ContractCall => ({ functionName, args, run });

/** Returns the bonds before their first cycle. */
const openBonds = ({ world, burnHeight }: Scene) =>
  world.staking.bonds.filter(({ firstCycle }) => burnHeight < cycles.startOf(firstCycle));

/** Picks a bond that the sender takes part in, if there is one. */
function someBond({ world, prng, sender }: Scene): number {
  const own = world.staking.positions.filter(({ staker }) => staker === sender);
  return own.length === 0 ? prng.below(world.staking.bonds.length + 1) : prng.pick(own).bond;
}

function someSigner({ world, prng, sender }: Scene): string {
  const { signers } = world.staking;
  return signers.length === 0 ? signerOf(sender) : prng.pick(signers)[0];
}

const someAmount = ({ world, prng, sender, burnHeight }: Scene): bigint =>
  world.spendable(sender, burnHeight) / BigInt(prng.between(2, 5));

const proposals = {
  'setup-bond': ({ prng, sender, recipient }: Scene) => {
    const stakers = [sender, ...Array.from({ length: prng.between(2, 6) }, recipient)];
    const allowed = new Map(stakers.map((staker) => [staker, BigInt(prng.between(100_000, 50_000_000))]));
    const args = [clarity.list([...allowed.keys()].map((staker) => clarity.principal(staker)))];
    return call('setup-bond', args, (context) => setUpBond(allowed, context));
  },
  'register-for-bond': (scene: Scene) => {
    const { prng, sender } = scene;
    const [signer, stx] = [someSigner(scene), someAmount(scene)];
    const bond = openBonds(scene).findLast(({ allowed }) => allowed.has(sender))?.index ?? someBond(scene);
    const outputs = prng.chance(0.5) ? null : Array.from({ length: prng.between(1, 3) }, () => prng.bytes(32));
    const args = [clarity.uint(bond), clarity.principal(signer), clarity.uint(stx)];
    return call('register-for-bond', args, (context) => registerForBond(bond, signer, stx, outputs, context));
  },
  'update-bond-registration': (scene: Scene) => {
    const [bond, signer] = [someBond(scene), someSigner(scene)];
    const args = [clarity.uint(bond), clarity.principal(signer)];
    return call('update-bond-registration', args, (context) => changeSigner(bond, signer, context));
  },
  'leave-bond': (scene: Scene) => {
    const bond = someBond(scene);
    const left = scene.prng.chance(0.5) ? 0n : BigInt(scene.prng.between(1, 100_000));
    const args = [clarity.uint(bond), clarity.uint(left)];
    return call('leave-bond', args, (context) => leaveBond(bond, left, context));
  },
  stake: (scene: Scene) => {
    const [stx, period, signer] = [someAmount(scene), scene.prng.between(1, 12), someSigner(scene)];
    const args = [clarity.uint(stx), clarity.uint(period), clarity.principal(signer)];
    return call('stake', args, (context) => stakeStx(stx, period, signer, context));
  },
  'change-stake': (scene: Scene) => {
    const { prng } = scene;
    const [increase, more] = [BigInt(prng.below(1_000_000)), prng.below(4)];
    const args = [clarity.uint(increase), clarity.uint(more)];
    return call('change-stake', args, (context) => changeStake(increase, more, context));
  },
  'register-signer': ({ prng }: Scene) => {
    const [key, authId] = [Uint8Array.of(prng.between(2, 3), ...prng.bytes(32)), BigInt(prng.u32())];
    return call('register-signer', [clarity.buffer(key), clarity.uint(authId)], (context) =>
      registerSigner(key, authId, context),
    );
  },
  'revoke-signer-grant': ({ world, prng, sender }: Scene) => {
    const { signers } = world.staking;
    const [signer, key] = signers.length === 0 ? [signerOf(sender), prng.bytes(33)] : prng.pick(signers);
    return call('revoke-signer-grant', [clarity.principal(signer), clarity.buffer(key)], (context) =>
      revokeKey(signer, key, context),
    );
  },
  'calculate-rewards': () => call('calculate-rewards', [], calculateRewards),
  claim: ({ world, prng, sender }: Scene) => {
    const { owed } = world.staking;
    const [staker = sender, bond = ''] = owed.length === 0 ? [] : prng.pick(owed)[0].split(' ');
    const index = bond === '' ? null : Number(bond);
    const args = [clarity.principal(staker), index === null ? clarity.none() : clarity.some(clarity.uint(index))];
    return call('claim', args, (context) => claim(staker, index, context));
  },
};

/** Fewer arguments than in the real contract. Only simulated users call the public functions. */
const functions = {
  ...sharedFunctions,
  'get-bond-allowance': readOnlyFunction(
    { 'bond-index': 'uint128', staker: 'principal' },
    { optional: 'uint128' },
    ({ world }, { 'bond-index': index, staker }) => {
      const sats = world.staking.bonds.find((bond) => BigInt(bond.index) === index)?.allowed.get(staker);
      return sats === undefined ? clarity.none() : clarity.some(clarity.uint(sats));
    },
  ),
  'get-signer-info': readOnlyFunction({ signer: 'principal' }, { optional: key }, ({ world }, { signer }) => {
    const bytes = world.staking.signers.find(([known]) => known === signer)?.[1];
    return bytes === undefined ? clarity.none() : clarity.some(clarity.buffer(bytes));
  }),
  'get-staker-info': readOnlyFunction(
    { staker: 'principal' },
    { optional: tupleType({ 'amount-ustx': 'uint128', 'first-reward-cycle': 'uint128', 'num-cycles': 'uint128' }) },
    ({ world, burnHeight }, { staker }) => {
      const stake = world.staking.stake(staker);
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
  ),
  'calculate-rewards': publicFunction({}),
  'change-stake': publicFunction({ 'amount-increase': 'uint128', 'cycles-to-extend': 'uint128' }),
  claim: publicFunction({ staker: 'principal', 'bond-index': { optional: 'uint128' } }),
  'leave-bond': publicFunction({ 'bond-index': 'uint128', 'new-amount-sats': 'uint128' }),
  'register-for-bond': publicFunction({ 'bond-index': 'uint128', signer: 'principal', 'amount-ustx': 'uint128' }),
  'register-signer': publicFunction({ 'signer-key': key, 'auth-id': 'uint128' }),
  'revoke-signer-grant': publicFunction({ 'signer-manager': 'principal', 'signer-key': key }),
  'setup-bond': publicFunction({ stakers: { list: { type: 'principal', length: 1000 } } }),
  stake: publicFunction({ 'amount-ustx': 'uint128', 'num-cycles': 'uint128', signer: 'principal' }),
  'update-bond-registration': publicFunction({ 'bond-index': 'uint128', signer: 'principal' }),
};

/** The pox-5 contract. Its functions have the prints of the real contract. */
export const pox5: ContractTemplate = {
  name: 'pox-5',
  clarityVersion: undefined,
  source: ';; The boot contract of staking; its source is not part of the simulation.\n',
  isPartial: true,
  abi: contractInterface({ functions: interfaceOf(functions) }),
  functions,
  /** Picks an account that has a position in the last bond, or may get one. */
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

/** Length of a bond in reward cycles. */
const BOND_CYCLES = 12;
const PRECISION = 10n ** 18n;

const done = clarity.bool(true);
const refused = err(1n);

type Fields = Readonly<Record<string, Uint8Array>>;

const print = (contract: string, topic: string, fields: Fields, staking?: StakingMove): ChainEvent => ({
  type: 'contract_event',
  contract,
  value: clarity.tuple({ topic: clarity.ascii(topic), ...fields }),
  ...(staking === undefined ? {} : { staking }),
});

const lock = (contract: string, address: string, amount: bigint, unlockHeight: number): ChainEvent => ({
  type: 'stx_lock_event',
  contract,
  address,
  amount,
  unlockHeight,
});

const unlock = (unlockCycle: number): Fields => ({
  'unlock-cycle': clarity.uint(unlockCycle),
  'unlock-burn-height': clarity.uint(cycles.startOf(unlockCycle)),
});

/** Sets up a bond that starts with the next cycle. @param allowed sats by staker */
function setUpBond(allowed: ReadonlyMap<string, bigint>, { world, contract, burnHeight }: CallContext): Outcome {
  const { bonds } = world.staking;
  const firstCycle = cycles.of(burnHeight) + 1;
  if (bonds.at(-1)?.firstCycle === firstCycle) return refused;
  const [index, unlockCycle] = [bonds.length, firstCycle + BOND_CYCLES];
  const bond = { index, firstCycle, unlockCycle, allowed };
  const bondIndex = { 'bond-index': clarity.uint(index) };
  const setup = print(
    contract,
    'setup-bond',
    {
      ...bondIndex,
      'target-rate': clarity.uint(300),
      'stx-value-ratio': clarity.uint(115_151),
      'min-ustx-ratio': clarity.uint(500),
      'early-unlock-bytes': clarity.buffer(Uint8Array.of(0x6c, 0x74)),
      'first-reward-cycle': clarity.uint(firstCycle),
      'bond-start-height': clarity.uint(cycles.startOf(firstCycle)),
      ...unlock(unlockCycle),
    },
    { kind: 'bond', bond },
  );
  const entries = [...allowed].map(([staker, sats]) =>
    print(contract, 'add-to-allowlist', {
      ...bondIndex,
      staker: clarity.principal(staker),
      'max-sats': clarity.uint(sats),
    }),
  );
  return ok(done, setup, ...entries);
}

function registerForBond(
  index: number,
  signer: string,
  stx: bigint,
  outputs: readonly Uint8Array[] | null,
  { world, contract, sender, burnHeight }: CallContext,
): Outcome {
  const bond = world.staking.bond(index);
  const sats = bond?.allowed.get(sender);
  if (bond === undefined || sats === undefined || burnHeight >= cycles.startOf(bond.firstCycle)) return refused;
  if (world.staking.position(index, sender) !== undefined) return refused;
  if (world.locked(sender, burnHeight) !== undefined || world.balance(sender) < stx) return refused;
  const { firstCycle, unlockCycle } = bond;
  const position: SimulatedPosition = {
    bond: index,
    staker: sender,
    signer,
    stx,
    sats,
    onBitcoin: outputs !== null,
    units: [{ from: firstCycle, units: sats, signer }],
  };
  const txs =
    outputs === null
      ? clarity.none()
      : clarity.some(
          clarity.list(
            outputs.map((txid, at) => clarity.tuple({ txid: clarity.buffer(txid), 'output-index': clarity.uint(at) })),
          ),
        );
  const registered = print(
    contract,
    'register-for-bond',
    {
      ...bondKey(position),
      signer: clarity.principal(signer),
      'amount-ustx': clarity.uint(stx),
      'sats-total': clarity.uint(sats),
      'first-reward-cycle': clarity.uint(firstCycle),
      ...unlock(unlockCycle),
      'is-l1-lock': clarity.bool(outputs !== null),
      'btc-lockup': clarity.tuple({ txs, type: clarity.ascii(outputs === null ? 'l2' : 'l1') }),
    },
    { kind: 'position', position },
  );
  return ok(done, registered, lock(contract, sender, stx, cycles.startOf(unlockCycle)));
}

const bondKey = ({ bond, staker }: Pick<SimulatedPosition, 'bond' | 'staker'>): Fields => ({
  'bond-index': clarity.uint(bond),
  staker: clarity.principal(staker),
});

/** Returns the first cycle without the units that leave a bond. */
const outFrom = (position: SimulatedPosition, burnHeight: number): number =>
  Math.max(cycles.of(burnHeight), position.units[0]?.from ?? 0);

/** Withdraws sBTC from a position, or announces the release of its Bitcoin. */
function leaveBond(index: number, amount: bigint, { world, contract, sender, burnHeight }: CallContext): Outcome {
  const position = world.staking.position(index, sender);
  if (position === undefined || position.sats === 0n || amount >= position.sats) return refused;
  const rest = position.onBitcoin ? 0n : amount;
  const moved: SimulatedPosition = {
    ...position,
    sats: rest,
    units: [...position.units, { from: outFrom(position, burnHeight), units: rest, signer: position.signer }],
  };
  const move = { kind: 'position' as const, position: moved };
  const fields = { ...bondKey(position), signer: clarity.principal(position.signer) };
  if (position.onBitcoin) {
    const released = { 'amount-sats-released': clarity.uint(position.sats) };
    return ok(done, print(contract, 'announce-l1-early-exit', { ...fields, ...released }, move));
  }
  const amounts = {
    'amount-withdrawn-sats': clarity.uint(position.sats - amount),
    'new-amount-sats': clarity.uint(amount),
  };
  return ok(done, print(contract, 'unstake-sbtc', { ...fields, ...amounts }, move));
}

function changeSigner(index: number, signer: string, { world, contract, sender, burnHeight }: CallContext): Outcome {
  const position = world.staking.position(index, sender);
  const bond = world.staking.bond(index);
  const next = cycles.of(burnHeight) + 1;
  if (position === undefined || bond === undefined || next >= bond.unlockCycle) return refused;
  const { sats, units } = position;
  // An empty position has nothing that another signer could sign.
  if (units.at(-1)?.units !== units[0]?.units) return refused;
  const firstCycle = Math.max(next, bond.firstCycle);
  const fields = {
    ...bondKey(position),
    signer: clarity.principal(signer),
    'old-signer': clarity.principal(position.signer),
    'amount-ustx': clarity.uint(position.stx),
    'amount-sats': clarity.uint(sats),
    'first-reward-cycle': clarity.uint(firstCycle),
    'num-cycles': clarity.uint(bond.unlockCycle - firstCycle),
    'is-l1-lock': clarity.bool(position.onBitcoin),
  };
  const changed = { ...position, signer, units: [...units, { from: firstCycle, units: sats, signer }] };
  const move = { kind: 'position' as const, position: changed };
  return ok(done, print(contract, 'update-bond-registration', fields, move));
}

function stakeStx(
  stx: bigint,
  period: number,
  signer: string,
  { world, contract, sender, burnHeight }: CallContext,
): Outcome {
  if (world.locked(sender, burnHeight) !== undefined || world.balance(sender) < stx) return refused;
  const firstCycle = cycles.of(burnHeight) + 1;
  const unlockCycle = firstCycle + period;
  const before = world.staking.stake(sender);
  // The contract stores shares by cycle, so a late calculation still finds the shares of an earlier stake.
  const earlier =
    before === undefined ? [] : [...before.units, { from: before.unlockCycle, units: 0n, signer: before.signer }];
  const stake: SimulatedStake = {
    staker: sender,
    signer,
    firstCycle,
    unlockCycle,
    units: [...earlier, { from: firstCycle, units: stx, signer }],
  };
  const fields = {
    staker: clarity.principal(sender),
    signer: clarity.principal(signer),
    'amount-ustx': clarity.uint(stx),
    'num-cycles': clarity.uint(period),
    'first-reward-cycle': clarity.uint(firstCycle),
    ...unlock(unlockCycle),
  };
  const staked = print(contract, 'stake', fields, { kind: 'stake', stake });
  return ok(done, staked, lock(contract, sender, stx, cycles.startOf(unlockCycle)));
}

/** Extends and increases a stake, or ends it with the current cycle if `more` is 0. */
function changeStake(increase: bigint, more: number, { world, contract, sender, burnHeight }: CallContext): Outcome {
  const stake = world.staking.stake(sender);
  const next = cycles.of(burnHeight) + 1;
  if (stake === undefined || stake.unlockCycle <= next || world.balance(sender) < increase) return refused;
  if (world.locked(sender, burnHeight)?.unlockHeight !== cycles.startOf(stake.unlockCycle)) return refused;
  const { units, signer, unlockCycle: before } = stake;
  const stx = (units.at(-1)?.units ?? 0n) + increase;
  if (world.balance(sender) < stx) return refused;
  const unlockCycle = more === 0 ? next : before + more;
  const shared = {
    staker: clarity.principal(sender),
    signer: clarity.principal(signer),
    'amount-ustx': clarity.uint(more === 0 ? stx - increase : stx),
    ...unlock(unlockCycle),
  };
  if (more === 0) {
    const move = { kind: 'stake' as const, stake: { ...stake, unlockCycle } };
    const ended = print(contract, 'unstake', { ...shared, 'first-reward-cycle': clarity.uint(stake.firstCycle) }, move);
    return ok(done, ended, lock(contract, sender, stx - increase, cycles.startOf(unlockCycle)));
  }
  const move = {
    kind: 'stake' as const,
    stake: { ...stake, unlockCycle, units: [...units, { from: next, units: stx, signer }] },
  };
  const fields = {
    ...shared,
    'old-signer': clarity.principal(signer),
    'prev-unlock-height': clarity.uint(before),
    'num-cycles': clarity.uint(unlockCycle - next),
    'amount-increase': clarity.uint(increase),
    'cycles-to-extend': clarity.uint(more),
  };
  return ok(
    done,
    print(contract, 'stake-update', fields, move),
    lock(contract, sender, stx, cycles.startOf(unlockCycle)),
  );
}

/** Registers a granted key for a signer's contract. */
function registerSigner(key: Uint8Array, authId: bigint, { contract, sender }: CallContext): Outcome {
  const signer = signerOf(sender);
  const signerKey = { 'signer-key': clarity.buffer(key) };
  const manager = { 'signer-manager': clarity.principal(signer) };
  return ok(
    done,
    print(contract, 'grant-signer-key', { ...signerKey, ...manager, 'auth-id': clarity.uint(authId) }),
    print(
      contract,
      'register-signer',
      { ...signerKey, signer: clarity.principal(signer) },
      { kind: 'signer', signer, key },
    ),
  );
}

function revokeKey(signer: string, key: Uint8Array, { contract }: CallContext): Outcome {
  const fields = { 'signer-key': clarity.buffer(key), 'signer-manager': clarity.principal(signer) };
  return ok(done, print(contract, 'revoke-signer-grant', fields));
}

const signerOf = (address: string): string => `${address}.signer-manager`;

/** Returns the units that earn rewards in a cycle, and their signer. */
const countedIn = ({ units, signer }: Pick<SimulatedPosition, 'units' | 'signer'>, cycle: number) => ({
  ...(unitsIn(units, cycle) ?? { units: 0n, signer }),
});

/** Calculates the rewards of a half cycle: one sat per thousand sats, and one sat per million micro-STX. */
function calculateRewards({ world, contract, burnHeight }: CallContext): Outcome {
  const { staking } = world;
  const half = cycles.halfOf(burnHeight);
  // The half cycle that has ended may be in the previous cycle.
  const cycle = cycles.of(cycles.startOfHalf(half) - 1);
  if (staking.isCalculated(half)) return refused;
  const owed = new Map<string, OwedShare>();
  const distribute = (shares: readonly { whom: string; units: bigint; signer: string }[], divisor: bigint) => {
    const total = shares.reduce((sum, { units }) => sum + units, 0n);
    const rewards = total / divisor;
    const rate = total === 0n ? 0n : (rewards * PRECISION) / total;
    for (const { whom, units, signer } of shares) owed.set(whom, { cycle, signer, sats: (units * rate) / PRECISION });
    return { total, rewards, rate };
  };
  const events: ChainEvent[] = [];
  let bondRewards = 0n;
  const bonds = staking.bonds.filter((bond) => isOn(bond, cycle));
  for (const { index } of bonds) {
    const positions = staking.positions.filter(({ bond }) => bond === index);
    const shares = positions.map((one) => ({ whom: owedTo(one.staker, index), ...countedIn(one, cycle) }));
    const { total, rewards, rate } = distribute(shares, 1_000n);
    bondRewards += rewards;
    events.push(
      print(contract, 'bond-distribution', {
        'bond-index': clarity.uint(index),
        'target-yield': clarity.uint(rewards),
        'bond-rewards': clarity.uint(rewards),
        'bond-staked-sats': clarity.uint(total),
        'accrued-rewards-per-sat': clarity.uint(rate),
        'cumulative-rewards-per-sat': clarity.uint(rate),
      }),
    );
  }
  const stakes = staking.stakes.filter(({ unlockCycle }) => cycle < unlockCycle);
  const shares = stakes.map((one) => ({ whom: owedTo(one.staker, null), ...countedIn(one, cycle) }));
  const { total, rewards, rate } = distribute(shares, 1_000_000n);
  const calculated = print(
    contract,
    'calculate-rewards',
    {
      'bond-periods': clarity.list(bonds.map(({ index }) => clarity.uint(index))),
      'calculation-height': clarity.uint(cycles.startOfHalf(half) - 1),
      'gross-accrued-rewards': clarity.uint(bondRewards + rewards),
      'total-bond-rewards': clarity.uint(bondRewards),
      'reserve-deposit': clarity.uint(0),
      'reserve-balance': clarity.uint(0),
      'stx-cycle': clarity.uint(cycle),
      'total-stx-staker-rewards': clarity.uint(rewards),
      'cycle-staked-ustx': clarity.uint(total),
      'accrued-rewards-per-ustx': clarity.uint(rate),
      'cumulative-rewards-per-ustx': clarity.uint(rate),
    },
    { kind: 'calculation', half, owed },
  );
  return ok(done, ...events, calculated);
}

/** Pays a staker's share of a bond's or a stake's rewards: one print per reward cycle and signer. */
function claim(staker: string, bond: number | null, { world, contract }: CallContext): Outcome {
  const recipient = owedTo(staker, bond);
  const shares = world.staking.owedOf(recipient);
  if (shares.length === 0) return refused;
  const prints = shares.map(({ cycle, signer, sats }) => {
    const fields = {
      'signer-manager': clarity.principal(signer),
      staker: clarity.principal(staker),
      'reward-cycle': clarity.uint(cycle),
      'bond-index': bond === null ? clarity.none() : clarity.some(clarity.uint(bond)),
      'rewards-claimed': clarity.uint(sats),
    };
    return print(contract, 'claim-staker-rewards-for-signer', fields, { kind: 'claim', owedTo: recipient });
  });
  return ok(done, ...prints);
}
