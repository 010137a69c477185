/**
 * What keeps something in memory, or does something outside, that comes from what transactions write. None of these may
 * write or throw: who has more to do does it later.
 */
export interface Participant {
  /** What was written since the last commit, or a part of it, is taken back: forget what was made from it. */
  undone(): void;
  /** What was written is committed. */
  committed?(): void;
  /** Called when the files are in order again after a failure; what seemed undone may be committed all the same. */
  recovered?(): void;
}
