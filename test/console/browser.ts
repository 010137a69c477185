/** A real Chromium for the tests of the console: one for the whole file, and none is needed where there is none. */
import { afterAll, expect, test } from 'bun:test';
import { source as axe } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** Names of the browser on systems that have it. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

const executablePath = NAMES.map((name) => Bun.which(name)).find((path) => path !== null) ?? null;

/** The sandbox of the browser needs rights that root in a container doesn't have; the rest keeps it off the network. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Whether the tests in the browser run. */
export const hasBrowser = executablePath !== null;

let started: Promise<Browser> | null = null;

/** The browser, started by the first call. */
function browser(): Promise<Browser> {
  started ??= chromium.launch({ executablePath: executablePath ?? '', args: FLAGS });
  return started;
}

let skipped = 0;

/** A test in the browser; skipped, and counted, where no browser is found. */
export function browserTest(name: string, body: () => Promise<void>): void {
  if (executablePath === null) skipped += 1;
  test.skipIf(executablePath === null)(name, body);
}

/** Ends the browser after the tests of a file, and says how many were skipped. Called once, after the tests. */
export function endBrowser(): void {
  if (skipped > 0) process.stderr.write(`No Chromium was found: ${skipped} tests of the console are skipped.\n`);
  afterAll(closeBrowser);
}

/** Ends the browser, if it was started. */
export async function closeBrowser(): Promise<void> {
  await (await started)?.close();
}

/** A page of the browser with what it complained of. */
export interface Visit extends AsyncDisposable {
  page: Page;
  /** Errors of the console and uncaught ones, and violations of the Content-Security-Policy. */
  complaints: string[];
}

/** Opens a page. Animations are off, so that a picture or a contrast never depends on the moment. */
export async function visit(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await (await browser()).newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  // Waits end with what is waited for; the end of a test that hangs is the runner's.
  page.setDefaultTimeout(0);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

interface Look {
  viewport: { width: number; height: number };
  colorScheme: 'light' | 'dark';
}

/** Gives the page a size, and the system a color scheme. What was loaded stays, and styles and charts follow. */
export async function look(page: Page, { viewport, colorScheme }: Look): Promise<void> {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  // What observes sizes is told within a frame, and so before the second frame begins.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

/** Waits until a page has its title and everything that it asked for. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector('h1');
  const busy = page.locator('[aria-busy]');
  while ((await busy.count()) > 0) await busy.first().waitFor({ state: 'detached' });
}

interface AxeResults {
  violations: { id: string; nodes: { target: string[]; failureSummary?: string }[] }[];
}

/** Rules whose outcome depends on the theme and the width, and those of WCAG 2.2, level AA, with what is good practice. */
const RULES = {
  look: ['color-contrast', 'target-size'],
  all: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};

/** Rows and lines that are like those before them: to check each would take most of the time. */
const REPEATED = ['tbody tr:nth-child(n + 7)', 'pre :nth-child(n + 30)'];

/** Checks a page for what keeps people from using it. */
export async function expectAccessible(page: Page, rules: keyof typeof RULES = 'all'): Promise<void> {
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(axe);
  const results = (await page.evaluate(
    `axe.run({ exclude: ${JSON.stringify(REPEATED)} }, { runOnly: ${JSON.stringify(RULES[rules])}, resultTypes: ['violations'] })`,
  )) as AxeResults;
  const found = results.violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join(' '))]);
  expect([page.url(), ...found]).toEqual([page.url()]);
}

/** How much wider than the window a page is, in pixels: 0 where nothing is cut off. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
