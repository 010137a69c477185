#!/usr/bin/env node
/**
 * Runs the executable of this platform, which npm installed as an optional dependency, and ends as it ends. Runs in Node
 * and needs nothing else.
 */
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { executable } = require('./executable.cjs');

/** Signals that end or steer a server. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']);

function fail(problem, remedy) {
  process.stderr.write(`${problem}\n${remedy}\n`);
  process.exit(1);
}

function executableOrEnd() {
  try {
    return executable();
  } catch (error) {
    if (error.remedy === undefined) throw error;
    return fail(error.message, error.remedy);
  }
}

const child = spawn(executableOrEnd(), process.argv.slice(2), { stdio: 'inherit' });

/** A terminal sends its signals to the child as well; a second one would make it end at once. */
const comesFromTerminal = (name) =>
  (name === 'SIGINT' || name === 'SIGQUIT') &&
  [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY === true);

for (const name of SIGNALS) {
  process.on(name, () => {
    if (!comesFromTerminal(name)) child.kill(name);
  });
}

/** Milliseconds between two looks at the parent. */
const LOOK_MS = 500;

// Where a signal ends npx, npm may end its shell and leave the command of that shell running.
if (process.env.npm_command === 'exec') {
  const parent = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    child.kill('SIGTERM');
  }, LOOK_MS);
}

child.on('error', (error) => fail(`The executable can't be started: ${error.message}`, 'Install Stackside again.'));
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  for (const name of SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // A signal that doesn't end this process, as on Windows.
  process.exit(128 + constants.signals[signal]);
});
