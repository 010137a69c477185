/** Projects that require contracts of other deployers. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { fetchRequirement, MissingRequirementError } from '../../src/devnet/clarity/project.ts';
import { MAX_ANSWER_BYTES } from '../../src/http/direct-fetch.ts';
import { clarityProject, DEPLOYER, hasClarity, stopEngines } from '../support/clarity.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { type Demo, demo } from './demo.ts';

const TRAIT = 'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.greeter-trait';
const GREETER = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG.greeter';
const sources: Record<string, string> = {
  [TRAIT]: '(define-trait greeter ((greet () (response uint uint))))',
  [GREETER]: `;; '${DEPLOYER.address}.none is only named in this comment.
    (impl-trait '${TRAIT}.greeter)
    (define-public (greet) (begin (print "hello") (ok u7)))`,
};
const HALL = `
(use-trait greeter '${TRAIT}.greeter)
(define-public (ask (who <greeter>)) (contract-call? who greet))
(define-public (ask-one) (contract-call? '${GREETER} greet))`;
const MANIFEST = `[[project.requirements]]\ncontract_id = "${GREETER}"`;

const cacheOf = ({ path }: DataDirectory, name: string): string => join(path, '.cache/requirements', name);

/** Writes the required contracts in Clarinet's form. */
async function fill(project: DataDirectory): Promise<void> {
  mkdirSync(cacheOf(project, ''), { recursive: true });
  for (const [id, source] of Object.entries(sources)) {
    await Bun.write(cacheOf(project, `${id}.clar`), source);
    await Bun.write(cacheOf(project, `${id}.json`), JSON.stringify({ epoch: 'Epoch21', clarity_version: 'Clarity2' }));
  }
}

const askOne = async (server: Demo) => {
  const called = { contract: 'hall', function: 'ask', arguments: [`'${GREETER}`] };
  const body = await server.steer('call', called);
  return [body.status, body.repr];
};

describe('a downloaded requirement', () => {
  /** Downloads the requirement from a server. @returns the problem, and whether something was written */
  async function download(answer: () => Response): Promise<[problem: string, isWritten: boolean]> {
    using directory = dataDirectory();
    const cache = join(directory.path, 'requirements');
    await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
    const result = await fetchRequirement(
      new MissingRequirementError(GREETER, cache),
      `http://127.0.0.1:${server.port}`,
    ).catch((error: unknown) => error);
    return [result instanceof OperatorError ? result.message : String(result), existsSync(cache)];
  }

  test.each([
    ['Clarity1', 'Epoch20'],
    ['Clarity5', 'Epoch34'],
  ])('of %s is written with %s, an epoch that has this version', async (version, epoch) => {
    using directory = dataDirectory();
    const answer = { source: '(print 1)', clarity_version: version };
    await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(answer) });
    await fetchRequirement(new MissingRequirementError(GREETER, directory.path), `http://127.0.0.1:${server.port}`);
    const metadata = await Bun.file(join(directory.path, `${GREETER}.json`)).json();
    expect(metadata).toEqual({ epoch, clarity_version: version });
  });

  test("is refused, and nothing is written, if the answer isn't a contract, is too long or redirects", async () => {
    expect(await download(() => new Response('<html>'))).toEqual([expect.stringContaining("isn't a contract"), false]);
    const long = 'x'.repeat(MAX_ANSWER_BYTES + 1);
    expect(await download(() => Response.json({ source: long }))).toEqual([
      expect.stringContaining(`longer than ${MAX_ANSWER_BYTES} bytes`),
      false,
    ]);
    expect(await download(() => Response.redirect('http://127.0.0.1:1/'))).toEqual([
      expect.stringContaining('the status is 302'),
      false,
    ]);
  });
});

afterAll(stopEngines);

describeWith('Clarity', hasClarity, () => {
  let project: DataDirectory;
  let server: Demo;
  beforeAll(async () => {
    project = await clarityProject({ hall: HALL }, MANIFEST);
    await fill(project);
    server = await demo({ clarity: project.path });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    project?.[Symbol.dispose]();
  });

  test('requirements are deployed by their own addresses, and traits of them resolve', async () => {
    expect(await askOne(server)).toEqual(['success', '(ok u7)']);
    for (const id of [TRAIT, GREETER]) {
      const contract = await server.json<{ contract_id: string; clarity_version: number; source_code: string }>(
        `/extended/v1/contract/${id}`,
      );
      expect(contract).toMatchObject({ contract_id: id, clarity_version: 2, source_code: sources[id] });
    }
  });

  test('missing requirements are named with a remedy, and --fork downloads them from a Stackside', async () => {
    using other = await clarityProject({ hall: HALL }, MANIFEST);
    const error = await demo({ clarity: other.path }).catch((error: unknown) => error);
    expect(error).toMatchObject({
      message: `${cacheOf(other, `${GREETER}.clar`)} doesn't exist, but the project requires the contract ${GREETER}.`,
      remedy: expect.stringContaining('--fork'),
    });
    await using forked = await demo({ clarity: other.path, fork: server.api });
    expect(await askOne(forked)).toEqual(['success', '(ok u7)']);
    for (const id of [TRAIT, GREETER]) {
      expect(readFileSync(cacheOf(other, `${id}.clar`), 'utf8')).toBe(sources[id]!);
      expect(JSON.parse(readFileSync(cacheOf(other, `${id}.json`), 'utf8'))).toMatchObject({
        clarity_version: 'Clarity2',
      });
    }
  });

  test('a requirement that no server has is reported with the URL, and nothing is written', async () => {
    using other = await clarityProject({ hall: HALL }, MANIFEST.replace('.greeter"', '.none"'));
    const id = GREETER.replace('.greeter', '.none');
    await expect(demo({ clarity: other.path, fork: server.api })).rejects.toThrow(
      `${server.api}/v2/contracts/source/${id.replace('.', '/')}?proof=0: the status is 404`,
    );
    expect(existsSync(cacheOf(other, ''))).toBe(false);
  });

  test('requirements that name others of their deployer relatively are deployed after those', async () => {
    const deployer = GREETER.split('.')[0]!;
    const named: Record<string, string> = {
      base: '(define-public (one) (ok u1))',
      tr: '(define-trait t ((one () (response uint uint))))',
      mid: '(use-trait t .tr.t) ;; not .none, ".none"\n(define-public (two) (contract-call? .base one))',
    };
    using other = await clarityProject(
      { hall: `(define-public (ask) (contract-call? '${deployer}.mid two))` },
      `[[project.requirements]]\ncontract_id = "${deployer}.mid"`,
    );
    mkdirSync(cacheOf(other, ''), { recursive: true });
    for (const [name, source] of Object.entries(named))
      await Bun.write(cacheOf(other, `${deployer}.${name}.clar`), source);
    await using chain = await demo({ clarity: other.path });
    const body = await chain.steer('call', { contract: 'hall', function: 'ask' });
    expect(body.repr).toBe('(ok u1)');
  });

  test("a requirement that can't be deployed is named as somebody else's contract", async () => {
    using wrong = await clarityProject({ hall: HALL }, MANIFEST);
    await fill(wrong);
    await Bun.write(cacheOf(wrong, `${GREETER}.clar`), '(define-public (greet) (ok (+ 1 u7)))');
    await expect(demo({ clarity: wrong.path })).rejects.toMatchObject({
      message: expect.stringContaining(`${GREETER}.clar`),
      remedy: `The project requires ${GREETER}, which can't be deployed. Compare the file with the original contract.`,
    });
  });

  test('an error next to requirements shows its position, and names a wrong identifier', async () => {
    using wrong = await clarityProject({ hall: `${HALL}\n(define-constant x (+ 1 u1))` }, MANIFEST);
    await fill(wrong);
    const newest = { epoch: 'Epoch34', clarity_version: 'Clarity5' };
    await Bun.write(cacheOf(wrong, `${GREETER}.json`), JSON.stringify(newest));
    await expect(demo({ clarity: wrong.path })).rejects.toThrow("hall.clar:5:20: expecting expression of type 'int'");
    using unknown = await clarityProject({}, '[[project.requirements]]\ncontract_id = "SP1.x"');
    await expect(demo({ clarity: unknown.path })).rejects.toThrow("requires SP1.x, which isn't a contract identifier.");
  });
});
