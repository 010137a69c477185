/** Which chain the data is of: as set by the operator, else as the first signed transaction says. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { MAINNET_CHAIN_ID, type Network, networkOf, TESTNET_CHAIN_ID } from '../../chain/network.ts';
import type { BlockPayload } from '../../chain/payload-schemas.ts';
import { fromHex } from '../../codec/hex.ts';
import { decodeKnownParts } from '../../codec/transaction.ts';
import type { Participant } from './participant.ts';

/** The chain id of the first transaction that somebody signed; else what the version bit of an unsigned one says. */
function chainIdOf(payload: Pick<BlockPayload, 'transactions'>): { chainId: number; certain: boolean } | null {
  let guess: number | null = null;
  for (const { raw_tx } of payload.transactions) {
    if (raw_tx === '0x00') continue;
    const decoded = decodeKnownParts(fromHex(raw_tx));
    if (!decoded.ok) continue;
    const { chainId, version } = decoded.value;
    if (chainId !== 0) return { chainId, certain: true };
    guess ??= version & 0x80 ? TESTNET_CHAIN_ID : MAINNET_CHAIN_ID;
  }
  return guess === null ? null : { chainId: guess, certain: false };
}

export type ChainIdentity = ReturnType<typeof chainIdentity>;

export function chainIdentity(db: Database) {
  const find = db.prepare<{ chain_id: number | null }, []>('SELECT chain_id FROM progress');
  const set = db.prepare<null, [number]>('UPDATE progress SET chain_id = ?1');
  /** The chain id that the index holds; undefined until it is read again. */
  let known: number | null | undefined;

  function chainId(): number | null {
    known ??= find.get()?.chain_id ?? null;
    return known;
  }

  function keep(id: number): void {
    set.run(id);
    known = id;
  }

  return {
    chainId,

    /**
     * Holds the data to the chain that the operator set.
     * @throws OperatorError where it is of another
     */
    require(wanted: number, directory: string): void {
      const found = chainId();
      if (found === null) keep(wanted);
      else if (found !== wanted) {
        throw new OperatorError(
          `The data in ${directory} belongs to chain 0x${found.toString(16)}, but the setting names 0x${wanted.toString(16)}.`,
          'Give each chain its own --data directory, and check which node posts to this port.',
        );
      }
    },

    /** Null before the first block, unless it was set. */
    network(): Network | null {
      const id = chainId();
      return id === null ? null : networkOf(id);
    },

    /** The network of a block, which decides the chain where nothing has. */
    networkFor(payload: Pick<BlockPayload, 'transactions'>): Network {
      const id = chainId();
      if (id !== null) return networkOf(id);
      const found = chainIdOf(payload);
      if (found?.certain) keep(found.chainId);
      return networkOf(found?.chainId ?? TESTNET_CHAIN_ID);
    },

    /** What is read with where nothing says which: a chain without blocks has no transactions either. */
    networkOrTest: (): Network => networkOf(chainId() ?? TESTNET_CHAIN_ID),

    participant: {
      undone() {
        known = undefined;
      },
    } satisfies Participant,
  };
}
