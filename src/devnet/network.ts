import { BOOT_ADDRESS } from '../codec/address.ts';

/** Constants that differ between networks. */
export interface Network {
  readonly name: 'mainnet' | 'testnet';
  /** First byte of a transaction. */
  readonly transactionVersion: number;
  readonly chainId: number;
  /** Version of single-signature addresses: 22 is written SP, 26 is written ST. */
  readonly addressVersion: number;
  /** Version byte of Bitcoin's base58 pay-to-public-key-hash addresses. */
  readonly bitcoinVersion: number;
  /** Deployer of the boot contracts: hash160 of twenty zero bytes. */
  readonly boot: string;
}

/** Networks for a simulated chain. */
export const networks = {
  mainnet: {
    name: 'mainnet',
    transactionVersion: 0x00,
    chainId: 0x0000_0001,
    addressVersion: 22,
    bitcoinVersion: 0x00,
    boot: BOOT_ADDRESS.mainnet,
  },
  testnet: {
    name: 'testnet',
    transactionVersion: 0x80,
    chainId: 0x8000_0000,
    addressVersion: 26,
    bitcoinVersion: 0x6f,
    boot: BOOT_ADDRESS.testnet,
  },
} as const satisfies Record<string, Network>;
