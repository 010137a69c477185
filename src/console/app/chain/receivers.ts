/** Sample receivers of deliveries in several languages. */
import go from '../receivers/receiver.go.txt' with { type: 'text' };
import python from '../receivers/receiver.py.txt' with { type: 'text' };
import typescript from '../receivers/receiver.ts.txt' with { type: 'text' };
import curl from '../receivers/send.sh.txt' with { type: 'text' };

/** Receivers by language; the one for curl sends a delivery. Each reads the signing secret from the environment. */
export const receivers = {
  typescript: { title: 'TypeScript', file: 'receiver.ts', source: typescript },
  python: { title: 'Python', file: 'receiver.py', source: python },
  go: { title: 'Go', file: 'receiver.go', source: go },
  curl: { title: 'curl', file: 'send.sh', source: curl },
} as const;

export type Language = keyof typeof receivers;
