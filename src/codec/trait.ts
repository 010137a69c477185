/** Whether a contract implements a trait, according to the interfaces of both. */

/** A function that a trait requires; a missing member requires nothing. */
export interface TraitFunction {
  name?: unknown;
  access?: unknown;
  args?: unknown[];
  outputs?: unknown;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/**
 * The functions of a trait's interface, arguments by their types alone.
 * @returns null for what isn't an object with a list of functions, each with a list of arguments
 */
export function traitFunctions(trait: unknown): TraitFunction[] | null {
  if (!isRecord(trait) || !Array.isArray(trait.functions)) return null;
  const functions: TraitFunction[] = [];
  for (const declared of trait.functions) {
    if (!isRecord(declared) || !Array.isArray(declared.args)) return null;
    const { name, access, outputs } = declared;
    const args = declared.args.map((arg) => (isRecord(arg) ? { type: arg.type } : arg));
    // The name first: it tells most functions apart at once.
    functions.push({
      ...(name === undefined ? {} : { name }),
      ...(access === undefined ? {} : { access }),
      args,
      ...(outputs === undefined ? {} : { outputs }),
    });
  }
  return functions;
}

/**
 * Whether a value contains what is asked for: an object must contain each member, a list must contain each item in any
 * order, and any other value must be equal.
 */
function holds(value: unknown, asked: unknown): boolean {
  if (Array.isArray(asked)) {
    return Array.isArray(value) && asked.every((item) => value.some((member) => holds(member, item)));
  }
  if (isRecord(asked)) {
    if (!isRecord(value) || Array.isArray(value)) return false;
    return Object.entries(asked).every(([name, member]) => name in value && holds(value[name], member));
  }
  return value === asked;
}

/** Whether the contract's interface declares each function of the trait. */
export function implementsTrait(contractInterface: unknown, functions: readonly TraitFunction[]): boolean {
  const declared = isRecord(contractInterface) ? contractInterface.functions : undefined;
  return holds(Array.isArray(declared) ? declared : [], functions);
}
