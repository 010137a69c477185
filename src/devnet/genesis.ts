import { principalBytes } from '../codec/address.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { toHex } from '../codec/hex.ts';
import { transactionId } from '../codec/transaction.ts';
import type { ChainEvent } from './chain-event.ts';
import { type ContractTemplate, contractInterface } from './contract.ts';
import { bns } from './contracts/bns.ts';
import { pox4 } from './contracts/pox-4.ts';
import { pox5 } from './contracts/pox-5.ts';
import { SBTC_ASSET, SBTC_DEPLOYER, sbtcRegistry, sbtcToken } from './contracts/sbtc.ts';
import { noCost, type Receipt } from './execute.ts';
import type { Network } from './network.ts';
import { smartContract, tokenTransfer, versionedSmartContract } from './payloads.ts';
import type { Prng } from './prng.ts';
import { unsignedBootTransaction } from './transaction-encode.ts';
import type { Account } from './wallet.ts';
import type { World } from './world.ts';

const done = clarity.ok(clarity.bool(true));

/** Boot contracts that are only there, so that a reader finds them. */
const quietContracts = ['costs', 'lockup'].map((name): ContractTemplate => {
  const source = `;; The boot contract ${name}; its source is not part of the simulation.\n`;
  const propose = () => {
    throw new Error(`nobody calls ${name}`);
  };
  const abi = contractInterface({ clarity_version: 'Clarity1' });
  return { name, clarityVersion: undefined, source, abi, isPartial: true, propose };
});

/** Micro-STX that the faucet has from the start: a billion STX. */
const FAUCET_FUNDS = 1_000_000_000_000_000n;
/** Sats that the faucet has from the start, as sBTC: ten thousand BTC. */
const FAUCET_SATS = 1_000_000_000_000n;

/**
 * Block 0: deploys the boot contracts, then hands out the STX that exist from the start.
 *
 * All of it comes from the boot address, unsigned. The mints hang on a transfer of nothing from that address to itself.
 */
export function genesisReceipts(
  world: World,
  rich: readonly Account[],
  faucet: Account | undefined,
  prng: Prng,
  network: Network,
): Receipt[] {
  const deployments = [...quietContracts, bns, pox4, pox5].map((template) => {
    world.install({ id: `${network.boot}.${template.name}`, template, height: 0 });
    return bootReceipt(smartContract(template.name, template.source), network, { abi: template.abi });
  });
  const sbtc = faucet === undefined ? [] : [sbtcToken, sbtcRegistry(faucet.publicKey)];
  for (const template of sbtc) {
    world.install({ id: `${SBTC_DEPLOYER}.${template.name}`, template, height: 0 });
    const payload = versionedSmartContract(3, template.name, template.source);
    const deployers = principalBytes(SBTC_DEPLOYER)!.subarray(1);
    deployments.push(bootReceipt(payload, network, { abi: template.abi }, deployers));
  }
  const mint = (recipient: string, amount: bigint) => ({ type: 'stx_mint_event' as const, recipient, amount });
  // 10,000 to 4,300 million STX, most of them small: balances should differ in length.
  const mints = rich.map(({ address }) =>
    mint(address, 10_000_000_000n + BigInt(prng.u32()) * 10n ** BigInt(prng.below(7))),
  );
  const events: ChainEvent[] = mints;
  if (faucet !== undefined) {
    const { address: recipient } = faucet;
    events.push(mint(recipient, FAUCET_FUNDS));
    events.push({ type: 'ft_mint_event', asset: SBTC_ASSET, recipient, amount: FAUCET_SATS });
  }
  for (const event of events) world.apply(event);
  return [...deployments, bootReceipt(tokenTransfer(network.boot, 0n, ''), network, { events })];
}

function bootReceipt(
  payload: Uint8Array,
  network: Network,
  parts: Partial<Receipt>,
  signers?: Uint8Array | undefined,
): Receipt {
  const raw = unsignedBootTransaction(payload, network, signers);
  return {
    txId: toHex(transactionId(raw)),
    rawTx: toHex(raw),
    status: 'success',
    result: done,
    events: [],
    abi: null,
    cost: noCost,
    vmError: null,
    burnchainOp: null,
    ...parts,
  };
}
