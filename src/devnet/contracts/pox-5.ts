/** pox-5: its interface, made-up calls of users, and the simulated functions. Amounts are micro-STX or sats. */
import { clarity } from '../../codec/clarity-encode.ts';
import {
  type CallContext,
  type ChainEvent,
  type ContractCall,
  type ContractTemplate,
  err,
  networkContract,
  type Outcome,
  ok,
  readOnlyFunction,
  type Scene,
  tupleType,
  userCall,
  usersFunction,
} from '../contract.ts';
import { cycles } from '../pox.ts';
import {
  addShare,
  isOn,
  type OwedShare,
  owedIn,
  owedTo,
  type SimulatedPosition,
  type SimulatedStake,
  type StakingMove,
  unitsIn,
} from '../staking-state.ts';
import { sharedFunctions } from './pox-4.ts';

const key = { buffer: { length: 33 } };

/** Length of a bond in reward cycles. */
const BOND_CYCLES = 12;
const PRECISION = 10n ** 18n;

const TRUE = clarity.bool(true);
const refusal = err(1n);

type Fields = Readonly<Record<string, Uint8Array>>;

const print = (contract: string, topic: string, fields: Fields, staking?: StakingMove): ChainEvent => ({
  type: 'contract_event',
  contract,
  value: clarity.tuple({ topic: clarity.ascii(topic), ...fields }),
  ...(staking === undefined ? {} : { staking }),
});

/** Returns the event that locks the caller's micro-STX until a reward cycle. */
const lock = ({ contract, sender }: CallContext, amount: bigint, unlockCycle: number): ChainEvent => ({
  type: 'stx_lock_event',
  contract,
  address: sender,
  amount,
  unlockHeight: cycles.startOf(unlockCycle),
});

const unlock = (unlockCycle: number): Fields => ({
  'unlock-cycle': clarity.uint(unlockCycle),
  'unlock-burn-height': clarity.uint(cycles.startOf(unlockCycle)),
});

/** Returns a change that stores a position, or a stake. */
const positionMove =
  (position: SimulatedPosition): StakingMove =>
  ({ positions }) =>
    positions.set(owedTo(position.staker, position.bond), position);
const stakeMove =
  (stake: SimulatedStake): StakingMove =>
  ({ stakes }) =>
    stakes.set(stake.staker, stake);

/** Returns the bonds, oldest first. */
const bondsOf = ({ world }: Pick<CallContext, 'world'>) => [...world.staking.bonds.entries().values()];

const positionsOf = ({ world }: Pick<CallContext, 'world'>) => [...world.staking.positions.entries().values()];

/** Returns the caller's position in a bond. */
const positionIn = (bond: bigint, { world, sender }: CallContext): SimulatedPosition | undefined =>
  world.staking.positions.get(owedTo(sender, Number(bond)));

/** Sets up a bond that starts with the next cycle. @param allowed sats by staker */
function setUpBond(allowed: ReadonlyMap<string, bigint>, context: CallContext): Outcome {
  const { contract, burnHeight } = context;
  const existing = bondsOf(context);
  const firstCycle = cycles.of(burnHeight) + 1;
  if (existing.at(-1)?.firstCycle === firstCycle) return refusal;
  const [index, unlockCycle] = [existing.length, firstCycle + BOND_CYCLES];
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
    ({ bonds }) => bonds.set(String(index), bond),
  );
  const entries = [...allowed].map(([staker, sats]) =>
    print(contract, 'add-to-allowlist', {
      ...bondIndex,
      staker: clarity.principal(staker),
      'max-sats': clarity.uint(sats),
    }),
  );
  return ok(TRUE, setup, ...entries);
}

function registerForBond(
  index: bigint,
  signer: string,
  stx: bigint,
  outputs: readonly Uint8Array[] | null,
  context: CallContext,
): Outcome {
  const { world, contract, sender, burnHeight } = context;
  const bond = world.staking.bonds.get(String(index));
  const sats = bond?.allowed.get(sender);
  if (bond === undefined || sats === undefined || burnHeight >= cycles.startOf(bond.firstCycle)) return refusal;
  if (positionIn(index, context) !== undefined) return refusal;
  if (world.locked(sender, burnHeight) !== undefined || world.balance(sender) < stx) return refusal;
  const { firstCycle, unlockCycle } = bond;
  const position: SimulatedPosition = {
    bond: bond.index,
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
            outputs.map((txid, index) =>
              clarity.tuple({ txid: clarity.buffer(txid), 'output-index': clarity.uint(index) }),
            ),
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
    positionMove(position),
  );
  return ok(TRUE, registered, lock(context, stx, unlockCycle));
}

const bondKey = ({ bond, staker }: Pick<SimulatedPosition, 'bond' | 'staker'>): Fields => ({
  'bond-index': clarity.uint(bond),
  staker: clarity.principal(staker),
});

const signerOf = (address: string): string => `${address}.signer-manager`;

/** Returns the units that earn rewards in a cycle, and their signer. */
const countedIn = ({ units, signer }: Pick<SimulatedPosition, 'units' | 'signer'>, cycle: number) =>
  unitsIn(units, cycle) ?? { units: 0n, signer };

/** Calculates the rewards of a half cycle: one sat per thousand sats, and one sat per million micro-STX. */
function calculateRewards(context: CallContext): Outcome {
  const { world, contract, burnHeight } = context;
  const half = cycles.halfOf(burnHeight);
  // The half cycle that has ended may be in the previous cycle.
  const cycle = cycles.of(cycles.startOfHalf(half) - 1);
  if (world.staking.halves.get(String(half))) return refusal;
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
  const bonds = bondsOf(context).filter((bond) => isOn(bond, cycle));
  for (const { index } of bonds) {
    const positions = positionsOf(context).filter(({ bond }) => bond === index);
    const shares = positions.map((position) => ({
      whom: owedTo(position.staker, index),
      ...countedIn(position, cycle),
    }));
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
  const stakes = [...world.staking.stakes.entries().values()].filter(({ unlockCycle }) => cycle < unlockCycle);
  const shares = stakes.map((stake) => ({ whom: owedTo(stake.staker, null), ...countedIn(stake, cycle) }));
  const { total, rewards, rate } = distribute(shares, 1_000_000n);
  const fields = {
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
  };
  const calculated = print(contract, 'calculate-rewards', fields, (state) => {
    state.halves.set(String(half), true);
    for (const [recipient, share] of owed) addShare(state, recipient, share);
  });
  return ok(TRUE, ...events, calculated);
}

const functions = {
  ...sharedFunctions,
  'get-bond-allowance': readOnlyFunction(
    { 'bond-index': 'uint128', staker: 'principal' },
    { optional: 'uint128' },
    ({ world }, { 'bond-index': index, staker }) => {
      const sats = world.staking.bonds.get(String(index))?.allowed.get(staker);
      return sats === undefined ? clarity.none() : clarity.some(clarity.uint(sats));
    },
  ),
  'get-signer-info': readOnlyFunction({ signer: 'principal' }, { optional: key }, ({ world }, { signer }) => {
    const bytes = world.staking.signers.get(signer);
    return bytes === undefined ? clarity.none() : clarity.some(clarity.buffer(bytes));
  }),
  'get-staker-info': readOnlyFunction(
    { staker: 'principal' },
    { optional: tupleType({ 'amount-ustx': 'uint128', 'first-reward-cycle': 'uint128', 'num-cycles': 'uint128' }) },
    ({ world, burnHeight }, { staker }) => {
      const stake = world.staking.stakes.get(staker);
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
  'calculate-rewards': usersFunction({}, calculateRewards),
  // Extends and increases a stake, or ends it with the current cycle if it isn't extended.
  'change-stake': usersFunction(
    { 'amount-increase': 'uint128', 'cycles-to-extend': 'uint128' },
    (context, { 'amount-increase': increase, 'cycles-to-extend': extension }) => {
      const { world, contract, sender, burnHeight } = context;
      const stake = world.staking.stakes.get(sender);
      const next = cycles.of(burnHeight) + 1;
      if (stake === undefined || stake.unlockCycle <= next || world.balance(sender) < increase) return refusal;
      if (world.locked(sender, burnHeight)?.unlockHeight !== cycles.startOf(stake.unlockCycle)) return refusal;
      const { units, signer, unlockCycle: previousCycle } = stake;
      const [extraCycles, amount] = [Number(extension), units.at(-1)?.units ?? 0n];
      const stx = amount + increase;
      if (world.balance(sender) < stx) return refusal;
      const unlockCycle = extraCycles === 0 ? next : previousCycle + extraCycles;
      const shared = {
        staker: clarity.principal(sender),
        signer: clarity.principal(signer),
        'amount-ustx': clarity.uint(extraCycles === 0 ? amount : stx),
        ...unlock(unlockCycle),
      };
      if (extraCycles === 0) {
        const fields = { ...shared, 'first-reward-cycle': clarity.uint(stake.firstCycle) };
        const unstakePrint = print(contract, 'unstake', fields, stakeMove({ ...stake, unlockCycle }));
        return ok(TRUE, unstakePrint, lock(context, amount, unlockCycle));
      }
      const fields = {
        ...shared,
        'old-signer': clarity.principal(signer),
        'prev-unlock-height': clarity.uint(previousCycle),
        'num-cycles': clarity.uint(unlockCycle - next),
        'amount-increase': clarity.uint(increase),
        'cycles-to-extend': clarity.uint(extraCycles),
      };
      const update = { ...stake, unlockCycle, units: [...units, { from: next, units: stx, signer }] };
      return ok(TRUE, print(contract, 'stake-update', fields, stakeMove(update)), lock(context, stx, unlockCycle));
    },
  ),
  // Pays a staker's share of a bond's or a stake's rewards: one print per reward cycle and signer.
  claim: usersFunction(
    { staker: 'principal', 'bond-index': { optional: 'uint128' } },
    ({ world, contract }, { staker, 'bond-index': bond }) => {
      const recipient = owedTo(staker, bond === undefined ? null : Number(bond));
      const shares = world.staking.owed.get(recipient) ?? [];
      if (shares.length === 0) return refusal;
      const prints = shares.map(({ cycle, signer, sats }) => {
        const fields = {
          'signer-manager': clarity.principal(signer),
          staker: clarity.principal(staker),
          'reward-cycle': clarity.uint(cycle),
          'bond-index': bond === undefined ? clarity.none() : clarity.some(clarity.uint(bond)),
          'rewards-claimed': clarity.uint(sats),
        };
        return print(contract, 'claim-staker-rewards-for-signer', fields, ({ owed }) => owed.set(recipient, []));
      });
      return ok(TRUE, ...prints);
    },
  ),
  // Withdraws sBTC from a position, or announces the release of its Bitcoin.
  'leave-bond': usersFunction(
    { 'bond-index': 'uint128', 'new-amount-sats': 'uint128' },
    (context, { 'bond-index': index, 'new-amount-sats': amount }) => {
      const position = positionIn(index, context);
      if (position === undefined || position.sats === 0n || amount >= position.sats) return refusal;
      const { onBitcoin, sats, signer, units } = position;
      const rest = onBitcoin ? 0n : amount;
      const from = Math.max(cycles.of(context.burnHeight), units[0]?.from ?? 0);
      const move = positionMove({ ...position, sats: rest, units: [...units, { from, units: rest, signer }] });
      const fields = { ...bondKey(position), signer: clarity.principal(signer) };
      if (onBitcoin) {
        const released = { ...fields, 'amount-sats-released': clarity.uint(sats) };
        return ok(TRUE, print(context.contract, 'announce-l1-early-exit', released, move));
      }
      const withdrawn = {
        ...fields,
        'amount-withdrawn-sats': clarity.uint(sats - amount),
        'new-amount-sats': clarity.uint(amount),
      };
      return ok(TRUE, print(context.contract, 'unstake-sbtc', withdrawn, move));
    },
  ),
  'register-for-bond': usersFunction({ 'bond-index': 'uint128', signer: 'principal', 'amount-ustx': 'uint128' }),
  // Registers a granted key for a signer's contract.
  'register-signer': usersFunction(
    { 'signer-key': key, 'auth-id': 'uint128' },
    ({ contract, sender }, { 'signer-key': bytes, 'auth-id': authId }) => {
      const signer = signerOf(sender);
      const signerKey = { 'signer-key': clarity.buffer(bytes) };
      const manager = { 'signer-manager': clarity.principal(signer) };
      const registered = { ...signerKey, signer: clarity.principal(signer) };
      return ok(
        TRUE,
        print(contract, 'grant-signer-key', { ...signerKey, ...manager, 'auth-id': clarity.uint(authId) }),
        print(contract, 'register-signer', registered, ({ signers }) => signers.set(signer, bytes)),
      );
    },
  ),
  'revoke-signer-grant': usersFunction(
    { 'signer-manager': 'principal', 'signer-key': key },
    ({ contract }, { 'signer-manager': signer, 'signer-key': bytes }) => {
      const fields = { 'signer-key': clarity.buffer(bytes), 'signer-manager': clarity.principal(signer) };
      return ok(TRUE, print(contract, 'revoke-signer-grant', fields));
    },
  ),
  'setup-bond': usersFunction({ stakers: { list: { type: 'principal', length: 1000 } } }),
  stake: usersFunction(
    { 'amount-ustx': 'uint128', 'num-cycles': 'uint128', signer: 'principal' },
    (context, { 'amount-ustx': stx, 'num-cycles': period, signer }) => {
      const { world, contract, sender, burnHeight } = context;
      if (world.locked(sender, burnHeight) !== undefined || world.balance(sender) < stx) return refusal;
      const firstCycle = cycles.of(burnHeight) + 1;
      const unlockCycle = firstCycle + Number(period);
      const former = world.staking.stakes.get(sender);
      // The contract stores shares by cycle, so a late calculation still finds the shares of an earlier stake.
      const earlier =
        former === undefined ? [] : [...former.units, { from: former.unlockCycle, units: 0n, signer: former.signer }];
      const units = [...earlier, { from: firstCycle, units: stx, signer }];
      const fields = {
        staker: clarity.principal(sender),
        signer: clarity.principal(signer),
        'amount-ustx': clarity.uint(stx),
        'num-cycles': clarity.uint(period),
        'first-reward-cycle': clarity.uint(firstCycle),
        ...unlock(unlockCycle),
      };
      const move = stakeMove({ staker: sender, signer, firstCycle, unlockCycle, units });
      return ok(TRUE, print(contract, 'stake', fields, move), lock(context, stx, unlockCycle));
    },
  ),
  'update-bond-registration': usersFunction(
    { 'bond-index': 'uint128', signer: 'principal' },
    (context, { 'bond-index': index, signer }) => {
      const position = positionIn(index, context);
      const bond = context.world.staking.bonds.get(String(index));
      const next = cycles.of(context.burnHeight) + 1;
      if (position === undefined || bond === undefined || next >= bond.unlockCycle) return refusal;
      const { sats, units } = position;
      // An empty position has nothing that another signer could sign.
      if (units.at(-1)?.units !== units[0]?.units) return refusal;
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
      const update = { ...position, signer, units: [...units, { from: firstCycle, units: sats, signer }] };
      return ok(TRUE, print(context.contract, 'update-bond-registration', fields, positionMove(update)));
    },
  ),
};

/** Returns the bonds before their first cycle. */
const openBonds = (scene: Scene) =>
  bondsOf(scene).filter(({ firstCycle }) => scene.burnHeight < cycles.startOf(firstCycle));

/** Picks the index of a bond that the sender takes part in, if there is one. */
function pickBond(scene: Scene): bigint {
  const { prng, sender } = scene;
  const positions = positionsOf(scene).filter(({ staker }) => staker === sender);
  return BigInt(positions.length === 0 ? prng.below(bondsOf(scene).length + 1) : prng.pick(positions).bond);
}

/** Returns the signers with their keys. */
const signersOf = ({ world }: Scene) => [...world.staking.signers.entries()];

function pickSigner(scene: Scene): string {
  const signers = signersOf(scene);
  return signers.length === 0 ? signerOf(scene.sender) : scene.prng.pick(signers)[0];
}

const pickAmount = ({ world, prng, sender, burnHeight }: Scene): bigint =>
  world.spendable(sender, burnHeight) / BigInt(prng.between(2, 5));

const proposals = {
  // The amounts of a bond and the outputs of a registration aren't among the arguments.
  'setup-bond': ({ prng, sender, recipient }: Scene) => {
    const stakers = [sender, ...Array.from({ length: prng.between(2, 6) }, recipient)];
    const allowed = new Map(stakers.map((staker) => [staker, BigInt(prng.between(100_000, 50_000_000))]));
    const call = userCall(functions, 'setup-bond', { stakers: [...allowed.keys()] });
    return { ...call, run: (context) => setUpBond(allowed, context) };
  },
  'register-for-bond': (scene: Scene) => {
    const { prng, sender } = scene;
    const [signer, stx] = [pickSigner(scene), pickAmount(scene)];
    const open = openBonds(scene).findLast(({ allowed }) => allowed.has(sender));
    const bond = open === undefined ? pickBond(scene) : BigInt(open.index);
    const outputs = prng.chance(0.5) ? null : Array.from({ length: prng.between(1, 3) }, () => prng.bytes(32));
    const call = userCall(functions, 'register-for-bond', { 'bond-index': bond, signer, 'amount-ustx': stx });
    return { ...call, run: (context) => registerForBond(bond, signer, stx, outputs, context) };
  },
  'update-bond-registration': (scene: Scene) =>
    userCall(functions, 'update-bond-registration', { 'bond-index': pickBond(scene), signer: pickSigner(scene) }),
  'leave-bond': (scene: Scene) => {
    const bond = pickBond(scene);
    const rest = scene.prng.chance(0.5) ? 0n : BigInt(scene.prng.between(1, 100_000));
    return userCall(functions, 'leave-bond', { 'bond-index': bond, 'new-amount-sats': rest });
  },
  stake: (scene: Scene) => {
    const [stx, period] = [pickAmount(scene), BigInt(scene.prng.between(1, 12))];
    return userCall(functions, 'stake', { 'amount-ustx': stx, 'num-cycles': period, signer: pickSigner(scene) });
  },
  'change-stake': ({ prng }: Scene) => {
    const [increase, extension] = [BigInt(prng.below(1_000_000)), BigInt(prng.below(4))];
    return userCall(functions, 'change-stake', { 'amount-increase': increase, 'cycles-to-extend': extension });
  },
  'register-signer': ({ prng }: Scene) => {
    const bytes = Uint8Array.of(prng.between(2, 3), ...prng.bytes(32));
    return userCall(functions, 'register-signer', { 'signer-key': bytes, 'auth-id': BigInt(prng.u32()) });
  },
  'revoke-signer-grant': (scene: Scene) => {
    const { prng, sender } = scene;
    const signers = signersOf(scene);
    const [signer, bytes] = signers.length === 0 ? [signerOf(sender), prng.bytes(33)] : prng.pick(signers);
    return userCall(functions, 'revoke-signer-grant', { 'signer-manager': signer, 'signer-key': bytes });
  },
  'calculate-rewards': () => userCall(functions, 'calculate-rewards', {}),
  claim: ({ world, prng, sender }: Scene) => {
    const owed = owedIn(world.staking);
    const [staker = sender, bond = ''] = owed.length === 0 ? [] : prng.pick(owed).split(' ');
    return userCall(functions, 'claim', { staker, 'bond-index': bond === '' ? undefined : BigInt(bond) });
  },
} satisfies Record<string, (scene: Scene) => ContractCall>;

/** The pox-5 contract. Its functions have the prints of the real contract. */
export const pox5: ContractTemplate = {
  ...networkContract('pox-5', 'The boot contract of staking', functions),
  /** Picks an account that has a position in the last bond, or may get one. */
  holder(world, _, prng) {
    const bond = bondsOf({ world }).at(-1);
    return bond === undefined ? undefined : prng.pick([...bond.allowed.keys()]);
  },
  propose(scene) {
    const { staking: state } = scene.world;
    const open = openBonds(scene).length > 0;
    const isDue = !state.halves.get(String(cycles.halfOf(scene.burnHeight)));
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
      [owedIn(state).length > 0 ? 8 : 1, 'claim'],
    ] as const);
    return proposals[kind](scene);
  },
};
