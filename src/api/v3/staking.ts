/** Staking by pox-5. */
import { Type } from '@sinclair/typebox';
import { notFound } from '../../http/errors.ts';
import { chainAndBurnTip } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { PrincipalParameter } from '../shared/parameters.ts';
import * as schema from './schemas/staking.ts';
import * as serialize from './serialize/staking.ts';

const tag = 'Staking';

const UNKNOWN_BOND = 'Bond not found';
const UNKNOWN_ALLOWANCE = 'Bond allowlist entry not found';
const UNKNOWN_REGISTRATION = 'Bond registration not found';
const UNKNOWN_CYCLE = 'PoX cycle not found';
const NO_CYCLES = 'No PoX cycles found';
const UNKNOWN_SIGNER = 'Staking signer not found';

const bond_index = Type.Integer({ description: 'Index of the bond, from 0', examples: example('bond_index') });
const principal = PrincipalParameter;

const cycle_number = Type.Transform(
  Type.String({
    pattern: '^(current|[0-9]+)$',
    examples: ['current'],
    description:
      'Number of a reward cycle, or `current` for the highest one whose signers are chosen. In a prepare phase that is the next cycle.',
  }),
)
  .Decode((text): number | 'current' => (text === 'current' ? text : Math.min(Number(text), Number.MAX_SAFE_INTEGER)))
  .Encode(String);

const burnHeight = async (read: Reader): Promise<number> => (await read.chain.tip())?.burnBlockHeight ?? 0;

export const staking = [
  route({
    path: '/extended/v3/principals/{principal}/staking',
    operationId: 'getPrincipalStaking',
    summary: 'Staking of a principal',
    description:
      'Returns what a principal stakes in bonds and outside of bonds, and what it earned. `stx` is the stake outside of bonds. For unknown principals every amount is zero.',
    tag: 'Principals',
    params: { principal },
    response: schema.PrincipalStaking,
    etag: chainAndBurnTip,
    handle: async ({ params: { principal }, read }) =>
      serialize.principalStaking(await read.staking.summary(principal)),
  }),
  route({
    path: '/extended/v3/principals/{principal}/staking/bonds',
    operationId: 'getPrincipalStakingBonds',
    summary: 'Bonds of a principal',
    description: 'Returns the current and former bond positions of a principal, ordered by bond index.',
    tag: 'Principals',
    params: { principal },
    query: cursorQuery,
    response: CursorPage(schema.BondPosition),
    etag: chainAndBurnTip,
    handle: async ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `principal-staking-bonds ${principal}`;
      const page = await read.staking.positions(principal, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, serialize.bondPosition);
    },
  }),
  route({
    path: '/extended/v3/staking/bonds',
    operationId: 'getStakingBonds',
    summary: 'Bonds',
    description: 'Returns the bonds, newest first.',
    tag,
    query: cursorQuery,
    response: CursorPage(schema.Bond),
    etag: chainAndBurnTip,
    handle: async ({ query: { limit, cursor }, read }) => {
      const height = await burnHeight(read);
      const page = await read.staking.bonds(limit, pageCursor('staking-bonds', cursor));
      return cursorPage('staking-bonds', limit, page, (bond) => serialize.bond(bond, height));
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}',
    operationId: 'getStakingBond',
    summary: 'One bond',
    description: 'Returns one bond, with the transaction that created it.',
    tag,
    params: { bond_index },
    response: schema.BondDetail,
    notFound: UNKNOWN_BOND,
    etag: chainAndBurnTip,
    handle: async ({ params: { bond_index }, read }) => {
      const bond = await read.staking.bond(bond_index);
      if (bond === undefined) throw notFound(UNKNOWN_BOND);
      return serialize.bondDetail(bond, await burnHeight(read));
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}/allowlist',
    operationId: 'getStakingBondAllowlist',
    summary: 'Allowlist of a bond',
    description: 'Returns the principals that may register for a bond, each with the maximum amount it may register.',
    tag,
    params: { bond_index },
    query: cursorQuery,
    response: CursorPage(schema.BondAllowance),
    etag: chainAndBurnTip,
    handle: async ({ params: { bond_index }, query: { limit, cursor }, read }) => {
      const list = `staking-bond-allowlist ${bond_index}`;
      const page = await read.staking.allowances(bond_index, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, serialize.bondAllowance);
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}/allowlist/{principal}',
    operationId: 'getStakingBondAllowlistEntry',
    summary: 'Allowlist entry of a principal',
    description: 'Returns the maximum amount that a principal may register for a bond.',
    tag,
    params: { bond_index, principal },
    response: schema.BondAllowance,
    notFound: UNKNOWN_ALLOWANCE,
    etag: chainAndBurnTip,
    handle: async ({ params: { bond_index, principal }, read }) => {
      const allowance = await read.staking.allowance(bond_index, principal);
      if (allowance === undefined) throw notFound(UNKNOWN_ALLOWANCE);
      return serialize.bondAllowance(allowance);
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}/registrations',
    operationId: 'getStakingBondRegistrations',
    summary: 'Registrations for a bond',
    description: 'Returns the registrations for a bond, newest first.',
    tag,
    params: { bond_index },
    query: cursorQuery,
    response: CursorPage(schema.BondRegistration),
    etag: chainAndBurnTip,
    handle: async ({ params: { bond_index }, query: { limit, cursor }, read }) => {
      const list = `staking-bond-registrations ${bond_index}`;
      const page = await read.staking.registrations(bond_index, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, serialize.bondRegistration);
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}/registrations/{principal}',
    operationId: 'getStakingBondRegistration',
    summary: 'Registration of a principal for a bond',
    description:
      'Returns the registration of one principal for a bond, with the collateral it locked and the transaction that registered it.',
    tag,
    params: { bond_index, principal },
    response: schema.BondRegistrationDetail,
    notFound: UNKNOWN_REGISTRATION,
    etag: chainAndBurnTip,
    handle: async ({ params: { bond_index, principal }, read }) => {
      const registration = await read.staking.registration(bond_index, principal);
      if (registration === undefined) throw notFound(UNKNOWN_REGISTRATION);
      return serialize.bondRegistrationDetail(registration);
    },
  }),
  route({
    path: '/extended/v3/staking/cycles/{cycle_number}/signers',
    operationId: 'getStakingCycleSigners',
    summary: 'Signers of a reward cycle',
    description:
      'Returns the signers of a reward cycle, largest weight first, each with the contract that registered its key.',
    tag,
    params: { cycle_number },
    query: cursorQuery,
    response: CursorPage(schema.CycleSigner),
    notFound: UNKNOWN_CYCLE,
    etag: chainAndBurnTip,
    handle: async ({ params: { cycle_number }, query: { limit, cursor }, read }) => {
      const list = `staking-cycle-signers ${cycle_number}`;
      const page = await read.staking.cycleSigners(cycle_number, limit, pageCursor(list, cursor));
      if (page === undefined) throw notFound(cycle_number === 'current' ? NO_CYCLES : UNKNOWN_CYCLE);
      return cursorPage(list, limit, page, serialize.cycleSigner);
    },
  }),
  route({
    path: '/extended/v3/staking/signers',
    operationId: 'getStakingSigners',
    summary: 'Staking signers',
    description:
      'Returns every contract that ever registered a signer key, ordered by address, each with its latest key.',
    tag,
    query: cursorQuery,
    response: CursorPage(schema.StakingSigner),
    etag: chainAndBurnTip,
    handle: async ({ query: { limit, cursor }, read }) => {
      const page = await read.staking.signers(limit, pageCursor('staking-signers', cursor));
      return cursorPage('staking-signers', limit, page, serialize.stakingSigner);
    },
  }),
  route({
    path: '/extended/v3/staking/signers/{principal}',
    operationId: 'getStakingSigner',
    summary: 'One staking signer',
    description: 'Returns one staking signer, with the transaction that registered its key.',
    tag,
    params: { principal },
    response: schema.StakingSignerDetail,
    notFound: UNKNOWN_SIGNER,
    etag: chainAndBurnTip,
    handle: async ({ params: { principal }, read }) => {
      const signer = await read.staking.signer(principal);
      if (signer === undefined) throw notFound(UNKNOWN_SIGNER);
      return serialize.stakingSignerDetail(signer);
    },
  }),
  route({
    path: '/extended/v3/staking/signers/{principal}/stakers',
    operationId: 'getStakingSignerStakers',
    summary: 'Stakers of a signer',
    description: 'Returns the principals that currently stake through a signer, ordered by address.',
    tag,
    params: { principal },
    query: cursorQuery,
    response: CursorPage(schema.SignerStaker),
    etag: chainAndBurnTip,
    handle: async ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `staking-signer-stakers ${principal}`;
      const page = await read.staking.stakers(principal, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, serialize.signerStaker);
    },
  }),
];
