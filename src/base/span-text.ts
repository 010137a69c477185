/** Returns a number with a noun: `1 byte`, `2 bytes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Returns a span of time in its largest units: `3 days 4 hours`, `59 seconds`. */
export function spanText(seconds: number): string {
  const units = [
    { name: 'day', of: 86_400 },
    { name: 'hour', of: 3_600 },
    { name: 'minute', of: 60 },
    { name: 'second', of: 1 },
  ];
  const first = units.findIndex(({ of }) => seconds >= of);
  if (first < 0) return '0 seconds';
  let remaining = seconds;
  const words = units.slice(first, first + 2).flatMap(({ name, of }) => {
    const count = Math.floor(remaining / of);
    remaining -= count * of;
    return count === 0 ? [] : [counted(count, name)];
  });
  return words.join(' ');
}
