/** The faucets of test networks, with their amounts and limits. */
import { atMost } from '../base/turns.ts';
import { canonicalPrincipal, parseStacksAddress, splitPrincipal } from '../codec/address.ts';
import type { CommandsOf } from '../store/ingest/commands.ts';
import type { Currency, FaucetCommands, FaucetRequests } from '../store/ingest/faucet-requests.ts';
import { type BitcoinRpcOptions, bitcoinRpc, type SentBitcoin } from './bitcoin-faucet.ts';
import { FaucetError, failed } from './faucet-error.ts';
import type { BroadcastTransaction, StacksFaucetOptions } from './stacks-faucet.ts';

type BitcoinSettings = BitcoinRpcOptions & { key: string };

export interface FaucetSettings {
  sbtc: boolean;
  /** Private keys, in hex, of the accounts that send STX and sBTC. Without keys, these faucets are off. */
  keys: readonly string[];
  sbtcAsset: string;
  /** The Bitcoin node and the faucet's key; null unless both are configured. */
  bitcoin: BitcoinSettings | null;
  limited: boolean;
}

export type FaucetEvent =
  | { event: 'faucet_sent'; currency: Currency; address: string; tx_id: string }
  | { event: 'faucet_failed'; currency: Currency; address: string; cause: unknown };

export interface FaucetOptions extends Omit<StacksFaucetOptions, 'keys'> {
  settings: FaucetSettings;
  /** Reports whether the chain is a test network. */
  onTestNetwork(): boolean;
  requests: FaucetRequests;
  commands: Pick<CommandsOf<FaucetCommands>, 'run'>;
  /** Returns the time in Unix milliseconds. */
  now: () => number;
  log: (event: FaucetEvent) => void;
}

export type BitcoinSize = 'normal' | 'large' | 'xlarge';

/** Amount that the sBTC faucet sends, in sats. */
const SBTC_AMOUNT = 10_000n;

const MICRO_STX = 1_000_000n;
const STX_AMOUNT = 500n * MICRO_STX;
const BTC_AMOUNTS: Readonly<Record<BitcoinSize, bigint>> = { normal: 10_000n, large: 1_000_000n, xlarge: 50_000_000n };
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Maximum requests for one recipient within a period, in milliseconds. */
const LIMIT = { requests: 5, within: 5 * MINUTE };
const STACKING_LIMIT = { requests: 1, within: 2 * DAY };

/** Address versions of test networks: ST and SN. */
const TEST_VERSIONS = [26, 21];

function testPrincipal(address: string): string {
  const principal = canonicalPrincipal(address);
  const version = parseStacksAddress(splitPrincipal(address).address)?.version;
  if (principal === null || version === undefined || !TEST_VERSIONS.includes(version)) {
    throw new FaucetError(
      400,
      'invalid STX address in querystring/address: addresses of test networks begin with ST or SN',
    );
  }
  return principal;
}

const NOT_AVAILABLE = new FaucetError(403, 'Faucet is not available');

function refuse(): never {
  throw NOT_AVAILABLE;
}

/** Faucets that reject every request, for processes that only read. */
export const noFaucets: Faucets = { stx: refuse, sbtc: refuse, btc: refuse };

/**
 * Returns the faucets of a server. Requests for one currency run one after the other. Each method throws FaucetError 403 if the
 * faucet is off or the chain isn't a test network, so call it before you check a request. The functions of a faucet also throw
 * FaucetError. The client's address `ip` is recorded, but sets no limit.
 */
export function openFaucets(options: FaucetOptions) {
  const { settings, onTestNetwork, requests, commands, now, log, node, nextNonce } = options;
  // Loaded at the first use: most servers never sign, and the code would double their start time.
  const openStacks = async () => {
    const { stacksFaucet } = await import('./stacks-faucet.ts');
    return stacksFaucet({ keys: settings.keys, node, nextNonce });
  };
  const openBitcoin = async (bitcoin: BitcoinSettings, address: string) => {
    const { bitcoinFaucet, isRegtestAddress } = await import('./bitcoin-faucet.ts');
    if (!isRegtestAddress(address)) {
      throw new FaucetError(400, 'Invalid BTC regtest address: addresses of regtest begin with bcrt1, m, n or 2');
    }
    return bitcoinFaucet(bitcoinRpc(bitcoin), bitcoin.key);
  };
  // Each request depends on the nonce or the outputs of the previous one.
  const queues = { stx: atMost(1), btc: atMost(1), sbtc: atMost(1) };

  /** Returns the parts that a faucet needs. @throws FaucetError if they are null, or the chain isn't a test network */
  function required<T>(needed: T | null, refusal: string): T {
    if (!onTestNetwork()) throw NOT_AVAILABLE;
    if (needed === null) throw new FaucetError(403, refusal);
    return needed;
  }

  /** Sends within the limit. Records the request first, so that no payout is sent without counting. */
  function pay<T extends BroadcastTransaction | SentBitcoin>(
    currency: Currency,
    address: string,
    ip: string,
    limit: typeof LIMIT,
    send: () => Promise<T>,
  ): Promise<T> {
    return queues[currency](async () => {
      const time = now();
      await commands.run('faucet.forget', { time: time - STACKING_LIMIT.within });
      if (settings.limited && requests.count(currency, address, time - limit.within) >= limit.requests) {
        throw new FaucetError(429, 'Too many requests');
      }
      const added = await commands.run('faucet.add', { currency, address, ip });
      try {
        const sent = await send();
        log({ event: 'faucet_sent', currency, address, tx_id: 'txId' in sent ? sent.txId : sent.txid });
        return sent;
      } catch (cause) {
        log({ event: 'faucet_failed', currency, address, cause });
        await commands.run('faucet.take_back', { currency, address, added });
        throw cause instanceof FaucetError ? cause : failed(cause);
      }
    });
  }

  return {
    stx() {
      required(settings.keys[0] ?? null, 'STX faucet is not available');
      return {
        async send(address: string, stacking: boolean, ip: string): Promise<BroadcastTransaction> {
          const recipient = testPrincipal(address);
          return pay('stx', recipient, ip, stacking ? STACKING_LIMIT : LIMIT, async () => {
            const stacks = await openStacks();
            const amount = stacking ? await stacks.stackingAmount() : null;
            return stacks.sendStx(recipient, amount ?? STX_AMOUNT);
          });
        },
      };
    },
    sbtc() {
      required((settings.sbtc && settings.keys[0]) || null, 'sBTC faucet is not available');
      return {
        async send(address: string, ip: string): Promise<BroadcastTransaction> {
          const recipient = testPrincipal(address);
          return pay('sbtc', recipient, ip, LIMIT, async () => {
            const stacks = await openStacks();
            return stacks.sendToken(settings.sbtcAsset, recipient, SBTC_AMOUNT);
          });
        },
      };
    },
    btc() {
      const bitcoin = required(settings.bitcoin, 'BTC Faucet is not configured.');
      return {
        async send(address: string, size: BitcoinSize, ip: string): Promise<SentBitcoin> {
          const faucet = await openBitcoin(bitcoin, address);
          return pay('btc', address, ip, LIMIT, () => faucet.send(address, BTC_AMOUNTS[size]));
        },
        /** Returns the balance of an address, in BTC. */
        balance: async (address: string): Promise<number> => (await openBitcoin(bitcoin, address)).balance(address),
      };
    },
  };
}
export type Faucets = ReturnType<typeof openFaucets>;
