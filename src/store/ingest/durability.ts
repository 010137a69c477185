/**
 * The index beside a journal commits without waiting for the disk: the journal can bring a lost commit back. What is sent
 * to others can't be taken back, so it waits until what it was made from is on the disk.
 */
import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { hasCode } from '../../base/errors.ts';
import type { Participant } from './transactions.ts';
import type { WriterHealth } from './writer-health.ts';

/** Puts what was written to a file on the disk; nothing where there is no such file. */
export interface FileSync {
  now(path: string): void;
  soon(path: string): Promise<void>;
}

/** Not for a database file itself: to close it here would free SQLite's locks on it. */
export const fileSync: FileSync = {
  now(path) {
    let file: number;
    try {
      file = openSync(path, 'r+');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return;
      throw error;
    }
    try {
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
  },
  async soon(path) {
    const file = await open(path, 'r+').catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return null;
      throw error;
    });
    try {
      await file?.datasync();
    } finally {
      await file?.close();
    }
  },
};

export type IndexDurability = ReturnType<typeof indexDurability>;

/** @param log the index's write-ahead log */
export function indexDurability(log: string, sync: FileSync, health: WriterHealth) {
  /** Commits so far, and how many of them are on the disk. */
  let committed = 0;
  let synced = 0;
  let underWay: Promise<void> | null = null;

  async function syncOnce(path: string): Promise<void> {
    const upTo = committed;
    try {
      await sync.soon(path);
      synced = Math.max(synced, upTo);
    } catch (error) {
      throw health.failed(error);
    } finally {
      underWay = null;
    }
  }

  return {
    /** How many commits there were. */
    position: (): number => committed,

    /** Waits until so many commits are on the disk. One sync serves all who came before it began. */
    async reached(position: number): Promise<void> {
      while (synced < position) {
        underWay ??= syncOnce(log);
        await underWay;
      }
    },

    /** Returns when all commits are on the disk. */
    now(): void {
      const upTo = committed;
      try {
        sync.now(log);
      } catch (error) {
        throw health.failed(error);
      }
      synced = Math.max(synced, upTo);
    },

    participant: {
      undone() {},
      // Told when files are brought in order, too: what an earlier process wrote, or a commit that seemed to fail, may
      // not be on the disk yet.
      committed() {
        committed += 1;
      },
    } satisfies Participant,
  };
}
