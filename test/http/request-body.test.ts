import { describe, expect, test } from 'bun:test';
import { bodyBytes, bodyText } from '../../src/http/request-body.ts';

const post = (body: RequestInit['body'], headers: Record<string, string> = {}) =>
  new Request('http://api/', { method: 'POST', body, headers });

/** A body that comes in parts, without a length. */
const parts = (...texts: readonly string[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });

describe('a request body', () => {
  test.each([
    ['none', null, ''],
    ['a text', 'hé', 'hé'],
    ['parts', parts('a', 'bc', ''), 'abc'],
    ['as many bytes as allowed', parts('12345', '67890'), '1234567890'],
    ['bytes that are no UTF-8', new Uint8Array([0x61, 0xff]), 'a\ufffd'],
  ])('%s', async (_, body, text) => {
    expect(await bodyText(post(body), 10)).toBe(text);
  });

  test('with a declared length above the limit is rejected unread', async () => {
    const request = post(parts('1'), { 'content-length': '11' });
    await expect(bodyBytes(request, 10)).rejects.toMatchObject({ name: 'BodyError', reason: 'too_large' });
    expect(request.bodyUsed).toBe(false);
  });

  test('is read only up to its limit', async () => {
    let pulled = 0;
    const long = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled++;
          if (pulled > 50) controller.close();
          else controller.enqueue(new Uint8Array(4));
        },
      },
      { highWaterMark: 0 },
    );
    await expect(bodyBytes(post(long), 10)).rejects.toMatchObject({ name: 'BodyError', reason: 'too_large' });
    expect(pulled).toBeLessThan(10);
  });

  test('that breaks off is rejected as incomplete, with the cause', async () => {
    const cause = new DOMException('The connection was closed.', 'AbortError');
    const broken = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(cause) });
    await expect(bodyBytes(post(broken), 10)).rejects.toMatchObject({ name: 'BodyError', reason: 'incomplete', cause });
  });
});
