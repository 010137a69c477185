/** @param time Unix seconds */
export const isoTime = (time: number): string => new Date(time * 1000).toISOString();
