/** Measures the files of a long chain. */
import { statusOf } from '../harness.ts';
import { figure, type Section } from '../results.ts';

const GIGABYTE = 1e9;

export async function indexSection(directory: string): Promise<Section> {
  const { transactions, index_bytes, journal } = await statusOf(directory);
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
