/** Waits with a limit. */
import { DevnetError } from './errors.ts';

/**
 * Waits for work to finish, up to a limit.
 * @param subject name of the awaited thing, to follow "Waited 5 ms for"
 * @throws DevnetError at the limit, and any error of `work`
 */
export async function within<T>(limitMs: number, subject: string, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `Waited ${limitMs} ms for ${subject}, which did not come.`;
    timer = setTimeout(() => reject(new DevnetError('time_limit', message)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
