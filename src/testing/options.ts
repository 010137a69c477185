/** Checks of the options that a test passes. */
import { nearestName } from '../base/nearest-name.ts';
import { DevnetError } from './errors.ts';
import type { DevnetOptions, HookDefinition, Limit } from './types.ts';

const DEVNET_OPTIONS: Readonly<Record<keyof DevnetOptions, true>> = {
  executable: true,
  port: true,
  seed: true,
  history: true,
  pox5Height: true,
  clarity: true,
  fork: true,
  state: true,
  unsafeImpersonate: true,
  limitMs: true,
};
const HOOK_MEMBERS: Readonly<Record<keyof HookDefinition, true>> = { name: true, filters: true, options: true };
const LIMITS: Readonly<Record<keyof Limit, true>> = { limitMs: true };

/** @throws DevnetError for a member that isn't known */
function requireKnown(call: string, options: object, known: Readonly<Record<string, true>>): void {
  const names = Object.keys(known);
  const field = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (field === undefined) return;
  const similar = nearestName(field, names);
  const hint = similar === null ? `its options are ${names.join(', ')}` : `did you mean ${similar}?`;
  throw new DevnetError('refused', `${call} has no option ${field}: ${hint}${similar === null ? '.' : ''}`, { field });
}

/** @throws DevnetError for an unknown option, or one without an effect */
export function requireDevnetOptions(options: DevnetOptions): void {
  requireKnown('startDevnet', options, DEVNET_OPTIONS);
  const { clarity, history } = options;
  const field = (['state', 'fork'] as const).find((name) => options[name] !== undefined);
  if (clarity === undefined && field !== undefined) {
    const message = `The option ${field} needs a Clarinet project. Name its directory with the option clarity.`;
    throw new DevnetError('refused', message, { field });
  }
  if (clarity !== undefined && history !== undefined) {
    const message = 'The option history is for simulated contracts: remove it, or the option clarity.';
    throw new DevnetError('refused', message, { field: 'history' });
  }
}

/** @throws DevnetError for an unknown member */
export const requireHookMembers = (definition: HookDefinition): void =>
  requireKnown('chain.hooks.add', definition, HOOK_MEMBERS);

/** @throws DevnetError for an unknown option */
export const requireLimit = (limit: Limit): void => requireKnown('next', limit, LIMITS);
