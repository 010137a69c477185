#!/usr/bin/env node
/**
 * Runs the executable of this platform, which npm installed as an optional dependency, and ends as it ends. Runs in Node
 * and needs nothing else.
 */
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { executable } = require('./executable.cjs');

/** Signals that stop or control a server. */
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

/** A terminal also sends its signals to the child. A second signal would stop the child at once. */
const comesFromTerminal = (name) =>
  (name === 'SIGINT' || name === 'SIGQUIT') &&
  [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY === true);

for (const name of SIGNALS) {
  process.on(name, () => {
    if (!comesFromTerminal(name)) child.kill(name);
  });
}

/** Milliseconds between two checks of the parent process. */
const LOOK_MS = 500;

// If a signal stops npx, npm may stop its shell but not the command of that shell.
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
  // The signal didn't stop this process, as on Windows.
  process.exit(128 + constants.signals[signal]);
});
