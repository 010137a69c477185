/** `stackside doctor`: checks the node, the configuration, the server and the disk, and prints each remedy. */
import { systemClock } from '../../base/clock.ts';
import { nodeRpc } from '../../node/rpc.ts';
import { runChecks } from './checks.ts';
import { type DoctorSettings, gatherFacts } from './facts.ts';

const WIDTHS = { state: 8, name: 9 };

const below = (text: string): string => text.trimEnd().replace(/^/gm, ' '.repeat(WIDTHS.state + 1 + WIDTHS.name));

/** Prints the checks. @param json whether to print one JSON object @returns whether there is no problem */
export async function reportDoctor(settings: DoctorSettings, json: boolean): Promise<boolean> {
  const findings = runChecks(await gatherFacts(settings, nodeRpc(settings.nodeRpc), systemClock));
  const isWell = findings.every(({ state }) => state !== 'problem');
  if (json) {
    process.stdout.write(`${JSON.stringify({ ok: isWell, checks: findings })}\n`);
    return isWell;
  }
  for (const finding of findings) {
    const { state, name, message } = finding;
    process.stdout.write(`${state.padEnd(WIDTHS.state)} ${name.padEnd(WIDTHS.name)}${message}\n`);
    if (finding.state !== 'problem') continue;
    process.stdout.write(`${below(finding.remedy)}\n`);
    if (finding.observer !== undefined) process.stdout.write(`\n${below(finding.observer)}\n\n`);
  }
  return isWell;
}
