/** A real Chromium for the console's tests: one for each file. Without Chromium, the tests are skipped. */

import { afterAll, expect, onTestFinished, test } from 'bun:test';
import axe from 'axe-core/axe.min.js' with { type: 'text' };
import { type Browser, type BrowserContextOptions, type ConsoleMessage, chromium, type Page } from 'playwright-core';
import { lazy } from '../../src/base/cache.ts';
import { until } from '../support/time/until.ts';

/** Names of the browser on different systems. The one without windows needs an eighth less processor time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

const executablePath = NAMES.map((name) => Bun.which(name)).find((path) => path !== null) ?? null;

/**
 * The browser's sandbox needs rights that root in a container lacks. The other flags keep the browser off the network.
 */
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];

/** True if the tests in the browser run. */
export const hasBrowser = executablePath !== null;

const MAX_WAIT_MS = 300_000;

let started: Promise<Browser> | null = null;

/** The browser, started by the first call. */
function browser(): Promise<Browser> {
  started ??= chromium.launch({ executablePath: executablePath ?? '', args: FLAGS });
  return started;
}

let skipped = 0;

/** Declares a test in the browser, which is skipped and counted if no browser is found. */
export function browserTest(name: string, body: () => Promise<void>): void {
  if (executablePath === null) skipped += 1;
  test.skipIf(executablePath === null)(name, body);
}

/** Closes the browser after the tests of a file, and prints the number of skipped tests. Called once, after the tests. */
export function endBrowser(): void {
  if (skipped > 0) process.stderr.write(`No Chromium was found: ${skipped} tests of the console are skipped.\n`);
  skipped = 0;
  afterAll(closeBrowser);
}

/** Stops the browser, if it is running. The next file of the same process starts a new one. */
export async function closeBrowser(): Promise<void> {
  const ending = started;
  started = null;
  sharedPage.clear();
  await (await ending)?.close();
}

/** The size of the window, and the color scheme of the system. */
export interface Look {
  viewport: { width: number; height: number };
  colorScheme: 'light' | 'dark';
}

export const WIDE: Look = { viewport: { width: 1440, height: 900 }, colorScheme: 'light' };
/** The narrowest window that pages must fit (WCAG 2.2, 1.4.10), as one of 640 pixels is at a zoom of 200 %. */
export const NARROW: Look = { viewport: { width: 320, height: 812 }, colorScheme: 'dark' };

/** Sets the window's size and the system's color scheme. Loaded data stays, and styles and charts follow. */
export async function look(page: Page, { viewport, colorScheme }: Look): Promise<void> {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  // Observers of sizes are notified within a frame, and so before the second frame begins.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

/** A browser page and its errors. */
export interface Visit extends AsyncDisposable {
  page: Page;
  /** Errors of the console and uncaught ones, and violations of the Content-Security-Policy. */
  complaints: string[];
}

/** Opens a page in a new window. Animations are off, so that screenshots and contrasts don't depend on the time. */
async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await (await browser()).newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  // Waits end with their condition. This limit only ends a test that would wait forever.
  page.setDefaultTimeout(MAX_WAIT_MS);
  return page;
}

/** Opens a URL in a new window with an empty cache. A window costs two seconds of processor time. */
export async function visitAfresh(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const page = await newPage(options);
  return await opened(page, url, () => page.context().close());
}

const sharedPage = lazy(newPage);

/** Opens a URL in the window that all tests share, wide and light. Data stored by a visit is deleted afterwards. */
export async function visit(url: string): Promise<Visit> {
  const page = await sharedPage();
  await look(page, WIDE);
  return await opened(page, url, async () => {
    await page.unrouteAll();
    await page.evaluate('localStorage.clear()');
    await page.context().clearCookies();
    await page.goto('about:blank');
  });
}

/** A visit that ends with the test that makes it. */
async function forTest(visiting: Promise<Visit>): Promise<Visit> {
  const visited = await visiting;
  onTestFinished(() => visited[Symbol.asyncDispose]());
  return visited;
}

/** Opens a URL in the window that all tests share, until the end of the test. */
export const openPage = (url: string): Promise<Visit> => forTest(visit(url));
/** Opens a URL in a new window, until the end of the test. */
export const openPageAfresh = (url: string): Promise<Visit> => forTest(visitAfresh(url));

async function opened(page: Page, url: string, end: () => Promise<void>): Promise<Visit> {
  const complaints: string[] = [];
  const onMessage = (message: ConsoleMessage) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`);
  };
  const onError = (error: Error) => complaints.push(String(error));
  page.on('console', onMessage);
  page.on('pageerror', onError);
  await page.goto(url);
  return {
    page,
    complaints,
    async [Symbol.asyncDispose]() {
      page.off('console', onMessage);
      page.off('pageerror', onError);
      await end();
    },
  };
}

/** Waits until a page has its title and all its requests have responses. */
export async function loaded(page: Page): Promise<void> {
  await page.waitForSelector('h1');
  const busy = page.locator('[aria-busy]');
  while ((await busy.count()) > 0) await busy.first().waitFor({ state: 'detached' });
}

/** Waits until each chart is drawn. */
export const drawn = (page: Page): Promise<void> =>
  until(() =>
    page.evaluate(`[...document.querySelectorAll('.chart-plot')].every((plot) => plot.querySelector('svg') !== null)`),
  );

/** Opens a path of the console as a link would, without reloading the document. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate(`{
    const link = document.createElement('a');
    link.href = ${JSON.stringify(path)};
    document.body.append(link);
    link.click();
    link.remove();
  }`);
}

/**
 * `look`: rules whose result depends on the theme and the width. `all`: rules of WCAG 2.2, level AA, and best
 * practices.
 */
const RULES = {
  look: ['color-contrast', 'target-size'],
  all: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};

/** Rows and lines that resemble those before them. Checking each one would take most of the time. */
const REPEATED = ['tbody tr:nth-child(n + 4)', 'pre :nth-child(n + 30)'];

/** The frame around every page. */
const SHELL = ['header.bar', 'nav.nav', 'dialog#keys'];

/**
 * Checks a page for accessibility problems.
 * @param withShell false if the shell was already checked in this look
 */
export async function expectAccessible(page: Page, rules: keyof typeof RULES = 'all', withShell = true): Promise<void> {
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(axe);
  const violations = (await page.evaluate(`axe.run(
    { exclude: ${JSON.stringify(withShell ? REPEATED : [...REPEATED, ...SHELL])} },
    { runOnly: ${JSON.stringify(RULES[rules])}, resultTypes: ['violations'], selectors: false, preload: false },
  ).then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))`)) as string[][];
  expect([page.url(), ...violations]).toEqual([page.url()]);
}

/** Pixels by which a page exceeds the window, or a table exceeds its container. 0 if nothing is cut off. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(`Math.max(...[document.documentElement, ...document.querySelectorAll('.table-frame')]
    .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`);

/** Checks that a page is accessible in a look, or in the present one, and that nothing is cut off. */
export async function expectFits(page: Page, view?: Look, ...rules: [(keyof typeof RULES)?, boolean?]): Promise<void> {
  if (view !== undefined) await look(page, view);
  await expectAccessible(page, ...rules);
  expect([page.url(), await overflow(page)]).toEqual([page.url(), 0]);
}

/** Texts of the amounts in tables that have several lines, although they have fewer than 20 characters. */
export const brokenAmounts = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('td .amount')]
    .filter((amount) => amount.innerText.length < 20 && new Set([...amount.getClientRects()].map(({ top }) => top)).size > 1)
    .map((amount) => amount.innerText)`);
