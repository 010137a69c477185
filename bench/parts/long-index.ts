/** Measures the files of a long chain. */
import { directoryStatus } from '../../src/store/files/status.ts';
import { figure, type Section } from '../results.ts';

const GIGABYTE = 1e9;

export function indexSection(directory: string): Section {
  const { transactions, index_bytes, journal } = directoryStatus(directory);
  return {
    title: 'A long chain: its files',
    notes: [],
    tables: [
      {
        head: ['figure', 'value'],
        rows: [
          ['transactions', figure([transactions])],
          ['index, GB', figure([index_bytes / GIGABYTE], 2)],
          ['journal, GB', figure([(journal?.bytes ?? 0) / GIGABYTE], 2)],
        ],
      },
    ],
  };
}
