import { SQLiteError } from 'bun:sqlite';

/** Whether the database itself failed, busy or full or broken: then nothing is known of what was to be read or written. */
export const isStorageError = (error: unknown): boolean => error instanceof SQLiteError;
