/** The declaration of a setting, which holds everything that is known of it. */
import type { Static, TSchema } from '@sinclair/typebox';

/** Every command. */
export type CommandName =
  | 'serve'
  | 'demo'
  | 'import'
  | 'export'
  | 'rebuild'
  | 'backup'
  | 'restore'
  | 'check'
  | 'status'
  | 'hooks'
  | 'health'
  | 'cluster'
  | 'sql'
  | 'devnet';

/** A difference of one command from the others. */
interface Exception<Value> {
  default?: Value;
  /** The default in words, in place of the default's own text. */
  absent?: string;
  help?: string;
}

export interface Setting<T extends TSchema = TSchema, C extends CommandName = CommandName> {
  commands: readonly C[];
  /** Null where only variables set it: other users of a machine see the flags of a program, and so its secrets. */
  flag: string | null;
  /**
   * Variables that are read where the flag isn't given. The first one that is set counts; the first in the list is
   * Stackside's own.
   */
  variables: readonly [`STACKSIDE_${string}`, ...string[]];
  /** Pairs of variables that together give a URL, read where none of the above is set. */
  hostAndPort?: readonly (readonly [host: string, port: string])[];
  /** The schema of a value, with the default. */
  type: T;
  /**
   * Parses a text, where the text isn't the value itself. What it returns for an invalid text must fail the type's
   * check.
   */
  read?: (text: string) => unknown;
  /** The text of a value, where it isn't the value itself. */
  show?: (value: Static<T>) => string;
  /** The meaning of a missing value, in words. */
  absent?: string;
  /** One sentence for `--help` and docs/settings.md. */
  help: string;
  /** The accepted values in words, to follow "It must be". */
  accepts: string;
  /** Whether the flag may be given several times; the values are then one text, separated by blanks. */
  repeatable?: boolean;
  /** Whether its value is never shown. */
  secret?: boolean;
  /** Differences by command; variables and flag are the same for every command. */
  except?: Partial<Record<NoInfer<C>, Exception<Static<T>>>>;
}

/** A setting with the heading that it stands under. */
export type Grouped<S = Setting> = S & { readonly group: string };

/** Declares a setting: keeps the types of its value and its commands. */
export const setting = <T extends TSchema, C extends CommandName>(declared: Setting<T, C>): Setting<T, C> => declared;

/** Puts settings under a heading of `--help` and of docs/settings.md. */
export function group<S extends Record<string, unknown>>(
  heading: string,
  settings: S,
): { [N in keyof S]: Grouped<S[N]> } {
  const grouped = Object.entries(settings).map(([name, declared]) => [
    name,
    Object.assign({}, declared, { group: heading }),
  ]);
  return Object.fromEntries(grouped) as { [N in keyof S]: Grouped<S[N]> };
}

/** Commands that open a server. */
export const servers = ['serve', 'demo'] as const;
