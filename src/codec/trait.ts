/** Whether a contract implements a trait, by what their interfaces declare. */

/** What a trait asks of functions; a member that isn't there asks for nothing. */
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
 * Whether one value holds another: an object each member that is asked for, a list something that holds each item asked
 * for, in any order and number; else both are equal.
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

/** Whether each function of the trait is held by one that the contract's interface declares. */
export function implementsTrait(contractInterface: unknown, functions: readonly TraitFunction[]): boolean {
  const declared = isRecord(contractInterface) ? contractInterface.functions : undefined;
  return holds(Array.isArray(declared) ? declared : [], functions);
}
