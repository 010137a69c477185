import { ADDRESS_VERSION, BOOT_ADDRESS } from '../codec/address.ts';

/** Networks for a simulated chain. */
export const networks = {
  mainnet: {
    name: 'mainnet',
    /** First byte of a transaction. */
    transactionVersion: 0x00,
    chainId: 0x0000_0001,
    /** Version of single-signature addresses: 22 is written SP, 26 is written ST. */
    addressVersion: ADDRESS_VERSION.mainnet.key,
    /** Version byte of Bitcoin's base58 pay-to-public-key-hash addresses. */
    bitcoinVersion: 0x00,
    /** Deployer of the boot contracts: hash160 of twenty zero bytes. */
    boot: BOOT_ADDRESS.mainnet,
  },
  testnet: {
    name: 'testnet',
    transactionVersion: 0x80,
    chainId: 0x8000_0000,
    addressVersion: ADDRESS_VERSION.testnet.key,
    bitcoinVersion: 0x6f,
    boot: BOOT_ADDRESS.testnet,
  },
} as const;

/** Constants that differ between networks. */
export type Network = (typeof networks)[keyof typeof networks];
