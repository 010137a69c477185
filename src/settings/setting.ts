/** What a setting is: everything that is known of it stands in its declaration. */
import type { Static, TSchema } from '@sinclair/typebox';

/** Every command. */
export type CommandName =
  | 'serve'
  | 'demo'
  | 'import'
  | 'export'
  | 'rebuild'
  | 'accept-journal'
  | 'backup'
  | 'check'
  | 'status'
  | 'hooks'
  | 'devnet';

/** What one command has otherwise than the others. */
interface Exception<Value> {
  default?: Value;
  /** What holds where the setting isn't given, in words; instead of the default's own text. */
  absent?: string;
  help?: string;
}

export interface Setting<T extends TSchema = TSchema, C extends CommandName = CommandName> {
  commands: readonly C[];
  /** Null where only variables set it: other users of a machine see the flags of a program, and so its secrets. */
  flag: string | null;
  /** Read where the flag isn't given; the first that is set counts. The first is Stackside's own. */
  variables: readonly [`STACKSIDE_${string}`, ...string[]];
  /** Pairs of variables that together give a URL, read where none of the above is set. */
  hostAndPort?: readonly (readonly [host: string, port: string])[];
  /** What a value must be, and the default. */
  type: T;
  /** What a text stands for, where it isn't the value itself. A text that stands for nothing must not pass the type's check. */
  read?: (text: string) => unknown;
  /** The text of a value, where it isn't the value itself. */
  show?: (value: Static<T>) => string;
  /** What holds where there is no value, in words. */
  absent?: string;
  /** One sentence for `--help` and the operators' page. */
  help: string;
  /** What is accepted, in words; follows "It must be". */
  accepts: string;
  /** Whether its value is never shown. */
  secret?: boolean;
  /** Per command; variables and flag are always the same. */
  except?: Partial<Record<NoInfer<C>, Exception<Static<T>>>>;
}

/** A setting with the heading that it stands under. */
export type Grouped<S = Setting> = S & { readonly group: string };

/** Declares a setting: keeps the types of its value and its commands. */
export const setting = <T extends TSchema, C extends CommandName>(declared: Setting<T, C>): Setting<T, C> => declared;

/** Puts settings under a heading of `--help` and of the operators' page. */
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
