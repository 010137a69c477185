/** `synced`: on disk when it is done, whatever becomes of the machine. */
export type Durability = 'synced' | 'usual';

/**
 * Writes of others than the node, all of them or none, when it is their turn.
 * @throws what `change` throws, StoreUnavailableError
 */
export type Write = <T>(change: () => T, when?: Durability) => Promise<T>;
