/** Messages between the main thread and the archiving threads. */
import type { Round } from '../../archive/archiver.ts';
import type { RetentionResult } from '../../archive/retention.ts';
import type { ErrorMessage } from '../../base/errors.ts';

/** The parameters that such a thread starts with. */
export interface ArchiveThreadStart {
  /** The data directory. */
  directory: string;
  /** The archive. */
  location: string;
  /** Whether it is for everybody, and signed with the key of the data directory. */
  isPublic: boolean;
}

/** A base that an archive has. */
export interface BaseSummary {
  entry: number;
  height: number;
  /** Unix milliseconds. */
  madeAt: number;
}

/** How far a base is. */
export interface BaseStep {
  /** The table that is read, and its number among all. */
  table: string;
  number: number;
  of: number;
  sentBytes: number;
}

/** The messages of a thread while it makes a base. */
export type BaseNews =
  | { kind: 'newest'; base: BaseSummary | null }
  | { kind: 'step'; step: BaseStep }
  | { kind: 'made'; base: BaseSummary; sentParts: number; sentBytes: number }
  | ({ kind: 'retained' } & RetentionResult);

/** A piece of work. */
export type ArchiveWork =
  | { kind: 'round'; round: Round }
  /** `make`: whether to make a base, or only to look at the newest. `keepDays`: days after which older bases are removed. */
  | { kind: 'base'; make: boolean; keepDays: number | null };

export type ToArchiveThread = ArchiveWork | { kind: 'end' };
export type FromArchiveThread =
  | { kind: 'archived'; entry: number }
  | { kind: 'base'; news: BaseNews }
  | { kind: 'done' }
  | ({ kind: 'failed' } & ErrorMessage);
