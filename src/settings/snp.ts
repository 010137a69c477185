/** Settings of stacks-node-publisher, in place of the event port. */
import { Type } from '@sinclair/typebox';
import { OperatorError } from '../base/errors.ts';
import type { Found } from './resolve.ts';
import { group, setting } from './setting.ts';
import { integer, yesOrNo } from './values.ts';

/** The publisher's own variable of the URL, which its clients share: it counts where streaming is switched on. */
const SHARED_URL = 'SNP_REDIS_URL';

const REDIS_URL = '^rediss?://([^/?#\\s]*@)?[^/?#@\\s]+(/\\d*)?$';

export const snpSettings = group('Events from stacks-node-publisher', {
  snp: setting({
    commands: ['serve'],
    flag: '--snp <url>',
    variables: ['STACKSIDE_SNP', SHARED_URL],
    type: Type.Union([Type.Null(), Type.String({ pattern: REDIS_URL })], { default: null }),
    help: `Redis of stacks-node-publisher, from which events are taken in place of the event port; ${SHARED_URL} counts if SNP_EVENT_STREAMING is true`,
    accepts: 'the URL of a Redis server, such as redis://user:password@127.0.0.1:6379/0; rediss:// is TLS',
  }),
  snpStreaming: setting({
    commands: ['serve'],
    flag: null,
    variables: ['STACKSIDE_SNP_EVENT_STREAMING', 'SNP_EVENT_STREAMING'],
    type: Type.Union([Type.Null(), Type.Boolean()], { default: null }),
    read: yesOrNo,
    absent: 'true if --snp is given',
    help: 'true: take events from stacks-node-publisher; false: take them at the event port, whatever --snp says',
    accepts: 'true or false',
  }),
  snpKeyPrefix: setting({
    commands: ['serve'],
    flag: '--snp-key-prefix <prefix>',
    variables: ['STACKSIDE_SNP_KEY_PREFIX', 'SNP_REDIS_STREAM_KEY_PREFIX'],
    type: Type.String({ pattern: '^([^\\s]*:)?$', default: '' }),
    read: (text) => (text === '' || text.endsWith(':') ? text : `${text}:`),
    help: "Prefix of stacks-node-publisher's keys in Redis; a colon is added at its end",
    accepts: 'a text without blanks',
  }),
  snpSkip: setting({
    commands: ['serve'],
    flag: '--snp-skip <numbers>',
    variables: ['STACKSIDE_SNP_SKIP'],
    type: Type.Union([Type.Null(), Type.Array(Type.Integer({ minimum: 0 }))], { default: null }),
    read: (text) => text.split(',').map((number) => integer(number.trim())),
    show: (numbers) => (numbers ?? []).join(','),
    absent: 'none',
    help: 'Numbers of messages of stacks-node-publisher that are passed over, since they can not be applied; the journal keeps which, and stackside check names them',
    accepts: 'numbers with commas, such as 75,76',
  }),
});

/** Switches `snp` off where `snpStreaming` says so, or where its URL is the shared one and nothing switches it on. */
export function withSnp(found: Map<string, Found>): void {
  const [url, streaming] = [found.get('snp'), found.get('snpStreaming')];
  if (url === undefined || streaming === undefined) return;
  const isOn = streaming.value ?? url.source?.name !== SHARED_URL;
  if (isOn === false) found.set('snp', { value: null, source: streaming.source });
}

/** Checks that streaming has a URL where it is switched on. @throws OperatorError */
export function requireSnpUrl({ snp, snpStreaming }: { snp: string | null; snpStreaming: boolean | null }): void {
  if (snp !== null || snpStreaming !== true) return;
  throw new OperatorError(
    'SNP_EVENT_STREAMING is true, but nothing names the Redis of stacks-node-publisher.',
    `Set ${SHARED_URL}, or give --snp.`,
  );
}
