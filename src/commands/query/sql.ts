/** `stackside sql`: queries of the index, from the command line, from stdin, or at a prompt. */
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../../base/errors.ts';
import { requireIndex } from '../../store/files/database.ts';
import type { View } from '../../store/views/view.ts';
import { views } from '../../store/views/views.ts';
import { closedOutput, printError } from '../cli/output.ts';
import { program } from '../cli/this-program.ts';
import { BYTES_PER_MEGABYTE, type Format, formats, requireReadable, type SqlOptions } from './options.ts';
import { runQuery } from './run.ts';

/** Writes to stdout; resolves when it is written. */
const write = (bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
  });

const cutError = (rows: number): OperatorError =>
  new OperatorError(
    `The result has more than ${rows} rows, and the others are left out.`,
    'Raise --max-rows, or write the whole result with stackside export --query.',
  );

async function queryOnce(directory: string, sql: string, options: SqlOptions): Promise<void> {
  const { format, timeout, maxMemory, maxRows } = options;
  requireReadable(format, process.stdout.isTTY);
  const start = { directory, source: { sql }, format, maxRows, printable: process.stdout.isTTY };
  const limits = { seconds: timeout, bytes: maxMemory * BYTES_PER_MEGABYTE };
  const { rows, cut } = await runQuery(start, limits, write);
  if (cut) throw cutError(rows);
}

/**
 * Runs a query and ends the process, which is the only way to end a thread in which SQLite works.
 * @param query undefined to read it from stdin
 */
async function queryAndEnd(directory: string, query: string | undefined, options: SqlOptions): Promise<never> {
  try {
    await queryOnce(directory, query ?? (await text(process.stdin)), options);
  } catch (error) {
    if (error instanceof OperatorError) printError(error);
    else if (!closedOutput(error)) throw error;
  }
  process.exit();
}

/** Runs `stackside sql`. @param query undefined to read it from stdin, or at a prompt on a terminal */
export async function runSql(directory: string, query: string | undefined, options: SqlOptions): Promise<void> {
  if (query !== undefined || !process.stdin.isTTY) await queryAndEnd(directory, query, options);
  await runPrompt(directory, options);
}

/** Text of `.help` at the prompt. Each query there is a process of its own, so that Ctrl-C ends it and the prompt stays. */
const HELP = `A query ends with a semicolon and may have several lines. Ctrl-C gives up a query, Ctrl-D leaves.
.tables          list the views
.schema [VIEW]   show the columns of the views
.format FORMAT   ${formats.join(', ')}
.help            show this
.quit            leave
`;

const withVersion = (name: string): View | undefined =>
  views.find((view) => view.name === name || view.name === `v1_${name}`);

const tablesText = (): string => {
  const widest = Math.max(...views.map(({ name }) => name.length));
  return views.map(({ name, help }) => `${name.padEnd(widest)}  ${help}\n`).join('');
};

function schemaText({ name, columns }: View): string {
  const widest = Math.max(...Object.keys(columns).map((column) => column.length));
  const lines = Object.entries(columns).map(
    ([column, { type, help }]) => `  ${column.padEnd(widest)}  ${type.padEnd(7)}  ${help}\n`,
  );
  return `${name}\n${lines.join('')}`;
}

/** The answer to a line that begins with a dot. @param session settings that such a line may change */
export function answerTo(line: string, session: { format: Format }): string {
  const [command = '', argument] = line.trim().split(/\s+/);
  switch (command) {
    case '.help':
      return HELP;
    case '.tables':
      return tablesText();
    case '.schema': {
      const view = argument === undefined ? undefined : withVersion(argument);
      if (argument !== undefined && view === undefined)
        return `There is no view ${argument}; .tables lists the views.\n`;
      return (view === undefined ? views : [view]).map(schemaText).join('\n');
    }
    case '.format': {
      const format = formats.find((one) => one === argument);
      if (format === undefined) return `Give one of ${formats.join(', ')}.\n`;
      session.format = format;
      return '';
    }
    default:
      return `${command} is no command; .help lists what there is.\n`;
  }
}

/** Runs a query in a process of its own, which uses the terminal meanwhile. */
async function runApart(directory: string, sql: string, options: SqlOptions): Promise<void> {
  const { format, timeout, maxMemory, maxRows } = options;
  const flags = ['--format', format, '--timeout', timeout, '--max-memory', maxMemory, '--max-rows', maxRows];
  const child = Bun.spawn([...program(), 'sql', '--data', directory, ...flags.map(String)], {
    stdin: Buffer.from(sql),
    stdout: 'inherit',
    stderr: 'inherit',
  });
  const ignore = () => {};
  // The terminal sends Ctrl-C to both processes.
  process.on('SIGINT', ignore);
  try {
    await child.exited;
  } finally {
    process.off('SIGINT', ignore);
  }
}

/** User input: a line, `cancelled` by Ctrl-C, or `left` by Ctrl-D. */
type Typed = { line: string } | 'cancelled' | 'left';

/** Lines typed at the terminal, with editing and history. Several may come at once, for example after a paste. */
function typedLines() {
  const input = createInterface({ input: process.stdin, output: process.stdout, terminal: true });
  const typed: Typed[] = [];
  let came = () => {};
  const add = (one: Typed) => {
    typed.push(one);
    came();
  };
  input.on('line', (line) => add({ line }));
  input.on('SIGINT', () => add('cancelled'));
  input.on('close', () => add('left'));
  return {
    async next(prompt: string): Promise<Typed> {
      input.setPrompt(prompt);
      input.prompt();
      while (typed.length === 0) {
        await new Promise<void>((resolve) => {
          came = resolve;
        });
      }
      return typed.shift() ?? 'left';
    },
    /** Releases the terminal while other work uses it. */
    async aside(work: () => Promise<void>): Promise<void> {
      input.pause();
      process.stdin.setRawMode(false);
      try {
        await work();
      } finally {
        process.stdin.setRawMode(true);
        input.resume();
      }
    },
    close: () => input.close(),
  };
}

/**
 * Reads and answers queries until the user leaves.
 * @throws OperatorError if there is no index
 */
async function runPrompt(directory: string, options: SqlOptions): Promise<void> {
  requireIndex(directory);
  const session = { ...options };
  const lines = typedLines();
  process.stdout.write(`${directory}: .help shows what is accepted, .tables lists the views.\n`);
  let begun = '';
  for (;;) {
    const typed = await lines.next(begun === '' ? 'sql> ' : '...> ');
    if (typed === 'left' || (begun === '' && typeof typed === 'object' && typed.line.trim() === '.quit')) break;
    if (typed === 'cancelled') {
      process.stdout.write('\n');
      begun = '';
    } else if (begun === '' && typed.line.trim().startsWith('.')) {
      process.stdout.write(answerTo(typed.line, session));
    } else {
      begun = `${begun}${typed.line}\n`.trimStart();
      if (!begun.trimEnd().endsWith(';')) continue;
      const query = begun;
      begun = '';
      await lines.aside(() => runApart(directory, query, session));
    }
  }
  process.stdout.write('\n');
  lines.close();
}
