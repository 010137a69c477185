/** Values of a server's metrics. */

/**
 * Returns the value of a series in `/metrics`, or NaN if there is no such series.
 * @param server the origin of its API or event port
 * @param series name, with labels if the series has any
 */
export async function metricOf(server: string, series: string): Promise<number> {
  const text = await (await fetch(`${server}/metrics`)).text();
  const line = text.split('\n').find((row) => row.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}
