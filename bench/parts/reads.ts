/**
 * Reads paths from the standard input, requests them in turn until SIGTERM, and prints their times. Every response must be
 * 200. Arguments: the URL, the connections, and milliseconds between two requests of a connection.
 */
export interface Reads {
  requests: number;
  p50: number;
  p99: number;
}

const [url, connections = '1', pause = '0'] = process.argv.slice(2);
const paths = (await Bun.stdin.text()).trim().split('\n');
const times: number[] = [];
let turn = 0;

process.on('SIGTERM', () => {
  times.sort((a, b) => a - b);
  const quantile = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
  const reads: Reads = { requests: times.length, p50: quantile(0.5), p99: quantile(0.99) };
  process.stdout.write(JSON.stringify(reads));
  process.exit(0);
});

async function request(): Promise<void> {
  // An unused parameter makes each URL new, so that no response comes from the response cache.
  const path = `${paths[turn % paths.length]}?turn=${++turn}`;
  const start = performance.now();
  const response = await fetch(`${url}${path}`);
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
  times.push(performance.now() - start);
}

async function requestAlways(): Promise<never> {
  for (;;) {
    await request();
    if (pause !== '0') await Bun.sleep(Number(pause));
  }
}

await Promise.all(Array.from({ length: Number(connections) }, requestAlways));
