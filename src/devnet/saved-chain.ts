/** The form of a chain in a file, from which a node mines it again. */
import { type Static, Type } from '@sinclair/typebox';

/** Bytes. */
export const Hex = Type.String({ pattern: '^0x([0-9a-f]{2})+$' });
export const Count = Type.Integer({ minimum: 0 });

/** An amount. */
export const Whole = Type.String({ pattern: '^[0-9]{1,39}$' });

const SavedTransaction = Type.Object({
  raw: Hex,
  /** Tokens that a command added. */
  mint: Type.Optional(Type.Object({ asset: Type.String(), recipient: Type.String(), amount: Whole })),
});

/** A transaction, in a form that a file can contain. */
export type SavedTransaction = Static<typeof SavedTransaction>;

export const SavedChain = Type.Object({
  /** The canonical blocks from block 1 on. */
  blocks: Type.Array(
    Type.Object({
      /** Whether the block starts a tenure, after a Bitcoin block. */
      tenure: Type.Boolean(),
      /** Its transaction with the status; null if it is empty. */
      transaction: Type.Union([
        Type.Null(),
        Type.Composite([SavedTransaction, Type.Object({ status: Type.String() })]),
      ]),
    }),
  ),
  snapshots: Type.Array(Type.Object({ name: Type.String(), height: Count, skipped: Count })),
  pending: Type.Array(SavedTransaction),
  /** Seconds that commands added to the machine's time. */
  skipped: Count,
  /** Names of the accounts that commands have named. */
  names: Type.Array(Type.String()),
});

/** The canonical chain of a node above block 0, and the state of its commands. */
export type SavedChain = Static<typeof SavedChain>;
