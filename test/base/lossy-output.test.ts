/** Log output that may fail: lines are dropped and counted, without any other effect. */
import { expect, test } from 'bun:test';
import { LossyOutput } from '../../src/base/lossy-output.ts';
import { createLog, reportingDropped } from '../../src/log.ts';

/** Returns a file whose writes fail in turn as planned: with an error code, or after a number of bytes. */
function failing(plan: (string | number)[]) {
  let [text, waits] = ['', 0];
  const output = new LossyOutput({
    write(bytes) {
      const next = plan.shift() ?? bytes.length;
      if (typeof next === 'string') throw Object.assign(new Error(next), { code: next });
      const part = bytes.subarray(0, next);
      text += Buffer.from(part).toString();
      return part.length;
    },
    wait() {
      waits += 1;
    },
  });
  return { output, text: () => text, waits: () => waits };
}

test.each(['ENOSPC', 'EIO', 'EPIPE', 'EBADF'])('after %s the text is dropped and the next one is written', (code) => {
  const { output, text } = failing([code]);
  for (const line of ['a\n', 'b\n']) output.write(line);
  expect([text(), output.dropped, output.works]).toEqual(['b\n', 1, true]);
});

test('a partly written text is completed before the next one, and texts in between are dropped', () => {
  const { output, text } = failing([2, 'ENOSPC', 'ENOSPC', 1, 'EIO']);
  for (const line of ['first\n', 'second\n', 'third\n', 'fourth\n']) output.write(line);
  expect([text(), output.dropped]).toEqual(['first\nfourth\n', 2]);
});

test('a full pipe is waited for, but not for every line while nobody reads it', () => {
  const slow = failing(['EAGAIN', 'EAGAIN']);
  slow.output.write('a\n');
  expect([slow.text(), slow.output.dropped, slow.waits()]).toEqual(['a\n', 0, 2]);
  const stuck = failing(Array(1_000).fill('EAGAIN'));
  for (let line = 0; line < 500; line++) stuck.output.write('a\n');
  expect([stuck.output.dropped, stuck.output.works]).toEqual([500, false]);
  expect(stuck.waits()).toBeLessThan(100);
});

/** Returns the log lines of a server that writes to a file whose writes fail as planned. */
function linesOf(signals: string[], plan: (string | number)[]): string[] {
  const { output, text } = failing(plan);
  const quiet = new LossyOutput({ write: ({ length }) => length, wait: () => {} });
  const log = reportingDropped(createLog('info', output), { stdout: quiet, stderr: output });
  for (const signal of signals) log({ event: 'stopping', signal });
  return text()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ msg, signal, lines }) => `${msg} ${signal ?? lines}`);
}

test('the number of dropped lines is logged once, and again if that line was dropped', () => {
  const lines = linesOf(['1', '2', '3', '4', '5'], ['ENOSPC', 'ENOSPC', 1_000, 'ENOSPC']);
  expect(lines).toEqual(['stopping 3', 'stopping 4', 'log_lines_dropped 3', 'stopping 5']);
});

test('a partly written count is completed and not repeated', () => {
  const lines = linesOf(['1', '2', '3'], ['ENOSPC', 1_000, 5, 'ENOSPC']);
  expect(lines).toEqual(['stopping 2', 'log_lines_dropped 1', 'stopping 3']);
});
