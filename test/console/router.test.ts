/** The links that the console follows by itself. Stand-ins replace the browser's globals for this test only. */
import { expect, test } from 'bun:test';

/** A constant, so that the compiler doesn't follow the import: the router's types need a browser, which tests lack. */
const ROUTER = new URL('../../src/console/app/ui/router.ts', import.meta.url).pathname;

const HERE = 'http://127.0.0.1/transactions/0x1?offset=50';

test('the browser handles links to a part of the page, and a link to the shown page adds no history entry', async () => {
  const listeners = new Map<string, (event: object) => void>();
  const listen = (name: string, listener: (event: object) => void) => listeners.set(name, listener);
  class Link {
    readonly target = '';
    readonly href: string;
    constructor(to: string) {
      this.href = new URL(to, HERE).href;
    }
    hasAttribute = () => false;
    closest = (selector: string) => (selector === 'a' ? this : null);
  }
  const followed: string[] = [];
  const replaced: string[] = [];
  const stubs = {
    location: new URL(HERE),
    document: { addEventListener: listen, querySelector: () => null },
    addEventListener: listen,
    history: {
      state: { key: 'first' },
      pushState: (_state: object, _title: string, to: string) => followed.push(to),
      replaceState: (_state: object, _title: string, to: string) => replaced.push(to),
    },
    sessionStorage: { getItem: () => null },
    scrollY: 0,
    Element: Link,
  };
  const before = Object.keys(stubs).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);
  try {
    for (const [name, value] of Object.entries(stubs)) {
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    }
    const { startRouter }: { startRouter(): void } = await import(ROUTER);
    startRouter();
    const isPrevented = (to: string): boolean => {
      let prevented = false;
      const preventDefault = () => {
        prevented = true;
      };
      listeners.get('click')?.({ target: new Link(to), button: 0, defaultPrevented: false, preventDefault });
      return prevented;
    };
    expect(['#main', '#post-conditions', 'http://elsewhere.example/'].map(isPrevented)).toEqual([false, false, false]);
    expect(['/blocks', '/transactions/0x2#main', '?offset=0#main'].map(isPrevented)).toEqual([true, true, true]);
    expect(followed).toEqual(['/blocks', '/transactions/0x2#main', '/transactions/0x1?offset=0#main']);
    // A link to the shown page adds no entry to the history, so that Back leads to the page before.
    expect([isPrevented(HERE), followed.length, replaced]).toEqual([true, 3, ['/transactions/0x1?offset=50']]);
  } finally {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, descriptor);
    }
  }
});
