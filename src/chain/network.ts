/** The networks, mainnet and all others, with the constants of their cycles and tenures. */

export interface Network {
  kind: 'mainnet' | 'testnet';
  /** The chain id in the bytes of every transaction: 0x00000001 on mainnet, 0x80000000 on the public testnet. */
  chainId: number;
}

export const MAINNET_CHAIN_ID = 0x0000_0001;
export const TESTNET_CHAIN_ID = 0x8000_0000;

/**
 * Returns the network of a chain id. All chains except mainnet have the addresses and the cycle length of test
 * networks.
 */
export const networkOf = (chainId: number): Network => ({
  kind: chainId === MAINNET_CHAIN_ID ? 'mainnet' : 'testnet',
  chainId,
});

/** The reward cycles of a network: the Bitcoin height at which cycle 0 started, and lengths in Bitcoin blocks. */
export interface CycleTimes {
  first: number;
  length: number;
  /** Length of the prepare phase at the end of a cycle; null if it is unknown. */
  prepare: number | null;
}

export const mainnetCycles = { first: 666_050, length: 2100, prepare: 100 } as const satisfies CycleTimes;

/** Returns the reward cycle of a Bitcoin height. */
export const cycleAt = ({ first, length }: CycleTimes, height: number): number => Math.floor((height - first) / length);

/** Returns the Bitcoin height at which a reward cycle starts. */
export const startOfCycle = ({ first, length }: CycleTimes, cycle: number): number => first + cycle * length;

/** Returns the length of a reward cycle, in Bitcoin blocks. */
export const cycleLength = (network: Network): number => (network.kind === 'mainnet' ? mainnetCycles.length : 50);

/** Returns a chain id as `0x` and eight hex digits. */
export const chainIdText = (chainId: number): string => `0x${chainId.toString(16).padStart(8, '0')}`;

/** A chain in messages: `mainnet (chain 0x00000001)`. */
export const chainWords = (chainId: number): string => `${networkOf(chainId).kind} (chain ${chainIdText(chainId)})`;

/** The cost limit of a tenure's blocks, unless the tenure is extended (SIP-006, as of Stacks 2.05), by dimension. */
export const TENURE_BUDGET = {
  runtime: 5_000_000_000,
  readCount: 15_000,
  readLength: 100_000_000,
  writeCount: 15_000,
  writeLength: 15_000_000,
} as const;
