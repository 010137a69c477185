/** The page of the API's document in a real browser. */
import { expect } from 'bun:test';
import { serving } from '../support/servers/serving.ts';
import { browserTest, endBrowser, visitAfresh } from './browser.ts';

/** Records violations of the Content-Security-Policy. The console doesn't print violations by compiled code. */
const WATCH = `
  globalThis.violations = [];
  document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sourceFile, lineNumber }) =>
    violations.push([effectiveDirective, blockedURI, sourceFile, lineNumber].join(' ')));
`;

/** A style that the page's script sets by HTML. */
const LINE_COUNT = "document.querySelector('code.hljs').style.getPropertyValue('--line-count')";

browserTest('the API docs page obeys its Content-Security-Policy', async () => {
  await using server = await serving();
  await using visited = await visitAfresh('about:blank');
  const { page, complaints } = visited;
  await page.addInitScript(WATCH);
  await page.goto(`${server.api}/docs`);
  await page.locator('code.hljs').first().waitFor();
  expect(await page.evaluate(LINE_COUNT)).toMatch(/^ ?\d+$/);
  // The search is another dialog of the page's script.
  await page.keyboard.press('Control+k');
  await page.locator('[role=dialog] input').first().waitFor();
  expect([await page.evaluate('violations'), complaints]).toEqual([[], []]);
});

endBrowser();
