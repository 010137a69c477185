#!/usr/bin/env node
/**
 * Runs the executable of this platform, which npm installed as an optional dependency, and ends as it ends. Runs in Node
 * and needs nothing else.
 */
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { dirname, join } = require('node:path');
/** @type {{ package: string, os: string, cpu: string, libc: string | null, executable: string }[]} */
const platforms = require('../platforms.json');

/** Signals that end or steer a server. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']);

function fail(problem, remedy) {
  process.stderr.write(`${problem}\n${remedy}\n`);
  process.exit(1);
}

/** The C library of this machine; null where the system has one alone. */
function libcHere() {
  if (process.platform !== 'linux') return null;
  const { header } = process.report.getReport();
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** The path of the executable. */
function executable() {
  const libc = libcHere();
  const found = platforms.find((one) => one.os === process.platform && one.cpu === process.arch && one.libc === libc);
  const here = [process.platform, process.arch, libc].filter((word) => word !== null).join(' ');
  if (found === undefined) {
    return fail(
      `There is no executable of Stackside for ${here}.`,
      `Platforms: ${platforms.map(({ os, cpu, libc: library }) => [os, cpu, library].filter(Boolean).join(' ')).join(', ')}.`,
    );
  }
  try {
    return join(dirname(require.resolve(`${found.package}/package.json`)), found.executable);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    return fail(
      `The package ${found.package}, which holds the executable for ${here}, is not installed.`,
      'Install again without --omit=optional, and on this machine.',
    );
  }
}

const child = spawn(executable(), process.argv.slice(2), { stdio: 'inherit' });

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
