/** API responses that arrive late or in a different order than their requests. */
import { expect, test } from 'bun:test';
import { liveQuery } from '../../src/console/app/api/live-query.ts';

/** A live query with requests that the test answers. */
function asking() {
  const requests: (PromiseWithResolvers<string> & { signal: AbortSignal })[] = [];
  const seen: string[] = [];
  const time = { now: 0 };
  const query = liveQuery<string>({
    load(signal) {
      const request = { ...Promise.withResolvers<string>(), signal };
      requests.push(request);
      return request.promise;
    },
    onAnswer: (answer) => seen.push(answer),
    onError: (error) => seen.push(String(error)),
    now: () => time.now,
  });
  const answer = async (index: number, text: string) => {
    requests[index]?.resolve(text);
    await requests[index]?.promise;
  };
  return { query, requests, seen, answer, time };
}

test('events faster than answers cause no concurrent requests and lose no answers', async () => {
  const { query, requests, seen, answer } = asking();
  for (let event = 0; event < 100; event++) query.refresh();
  expect(requests.length).toBe(1);
  for (let index = 0; index < 5; index++) {
    await answer(index, `answer ${index}`);
    for (let event = 0; event < 20; event++) query.refresh();
  }
  expect(seen).toEqual(['answer 0', 'answer 1', 'answer 2', 'answer 3', 'answer 4']);
  expect(requests.length).toBe(6);
  // One request after the last event returns the changes. No other request follows.
  await answer(5, 'answer 5');
  await answer(6, 'the newest');
  expect([seen.at(-1), requests.length]).toEqual(['the newest', 7]);
});

test('an answer to a canceled request is ignored', async () => {
  const { query, requests, seen, answer } = asking();
  query.refresh();
  query.restart();
  expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  await answer(1, 'new');
  await answer(0, 'old');
  expect(seen).toEqual(['new']);
  query.refresh();
  query.end();
  await answer(2, 'nobody asked');
  expect(seen).toEqual(['new']);
});

test('an event starts a new request if the running one is lost', async () => {
  const { query, requests, seen, answer, time } = asking();
  query.refresh();
  time.now = 30_000;
  query.refresh();
  expect(requests.length).toBe(1);
  time.now = 30_001;
  query.refresh();
  expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  await answer(1, 'new');
  await answer(0, 'lost');
  expect(seen).toEqual(['new']);
});

test('a failed request shows its error, and the next event tries again', async () => {
  const { query, requests, seen, answer } = asking();
  query.refresh();
  requests[0]?.reject('the server is away');
  await requests[0]?.promise.catch(() => {});
  expect(seen).toEqual(['the server is away']);
  query.refresh();
  await answer(1, 'it is back');
  expect(seen).toEqual(['the server is away', 'it is back']);
});
