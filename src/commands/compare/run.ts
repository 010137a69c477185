/** `stackside compare`: its requests and its output. */

import { systemClock, systemRandom } from '../../base/clock.ts';
import { OperatorError, PassingError } from '../../base/errors.ts';
import type { SettingsOf } from '../../settings/config.ts';
import type { OutputFormat } from '../cli/command.ts';
import { interruptible } from '../cli/output.ts';
import { progressLines } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';
import { noMainThreadParts, resources } from '../serve/app.ts';
import { apartText, type CommonChain } from './common-chain.ts';
import { compare } from './compare.ts';
import { plansOf } from './questions.ts';
import { printReport, type Tally, totalsOf } from './report.ts';
import { ThrottledClient } from './throttled-client.ts';

export interface CompareCommandOptions {
  rate: number;
  requests: number;
  /** Default: random. */
  seed?: number;
  format: OutputFormat;
}

/** Seeds that are drawn are below it: short enough to type. */
const SEEDS = 1_000_000;

/** A URL as `ThrottledClient` takes it, as the other settings of servers are. */
const API_URL = /^https?:\/\/[^/?#\s@]+(\/[^?#\s]*)?$/;

function requireUrl(text: string, api: string): string {
  const url = text.replace(/\/+$/, '');
  if (!API_URL.test(url) || URL.parse(url) === null) {
    throw new OperatorError(
      'The URL of the other API has a wrong form.',
      'Give the URL without /extended and without a password, such as https://api.example.org. STACKSIDE_COMPARE_KEY can contain a key.',
    );
  }
  if (url === api) {
    throw new OperatorError(
      `${url} is this server itself.`,
      'Give the URL of another server, or set --url to this one.',
    );
  }
  return url;
}

/**
 * Compares, and prints the findings, even if the comparison fails halfway.
 * @returns whether all differences have known reasons
 * @throws OperatorError for bad input or another chain; PassingError if a server can't be reached, or the two are apart
 */
export async function runCompare(
  { url: api, compareKey }: SettingsOf<'compare'>,
  text: string,
  { rate, requests, seed, format }: CompareCommandOptions,
): Promise<boolean> {
  const url = requireUrl(text, api);
  const routes = resources({
    ...noMainThreadParts,
    version: serverVersion,
    clock: systemClock,
    asksAboutTokens: true,
    namesContract: null,
  }).flat();
  const common = { clock: systemClock, userAgent: `${serverVersion} compare` };
  const progress = progressLines(process.stderr);
  let now: { standing: CommonChain; tally: Tally } | null = null;

  const leave = (): void => {
    progress.erase();
    if (now !== null) printReport(now.tally, now.standing, format);
  };

  try {
    const end = await interruptible(leave, () =>
      compare({
        ours: new ThrottledClient({ url: api, rate: null, key: null, ...common }),
        theirs: new ThrottledClient({ url, rate, key: compareKey, ...common }),
        clock: systemClock,
        plans: plansOf(routes),
        requests,
        seed: seed ?? Math.floor(systemRandom.number() * SEEDS),
        begun(standing, tally) {
          now = { standing, tally };
          const apart = apartText(standing);
          if (apart !== null) process.stderr.write(`${apart} Responses that depend on the tip can't be compared.\n`);
        },
        asked() {
          const { tally } = now!;
          progress.draw(() => {
            const { equal, known, differing } = totalsOf(tally);
            return `${tally.requests} of ${requests} requests: ${equal + known} answers agree, ${differing} differ`;
          });
        },
      }),
    );
    now = { tally: now!.tally, standing: end };
  } catch (error) {
    if (error instanceof PassingError) leave();
    throw error;
  }
  leave();
  const apart = apartText(now.standing);
  if (totalsOf(now.tally).differing > 0) return false;
  if (apart !== null) throw new PassingError(apart, 'Run the command again once both are at the same block.');
  return true;
}
