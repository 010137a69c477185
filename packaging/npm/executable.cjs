/** Finds the executable of this platform, which npm installed as an optional dependency. Runs in Node and needs nothing else. */
'use strict';
const { dirname, join } = require('node:path');
/** @type {{ package: string, os: string, cpu: string, libc: string | null, executable: string }[]} */
const platforms = require('../platforms.json');

/** An error that the user can fix. */
const fail = (problem, remedy) => {
  throw Object.assign(new Error(problem), { remedy });
};

/** Returns the C library of this machine; null if the system has only one. */
function libcHere() {
  if (process.platform !== 'linux') return null;
  const { header } = process.report.getReport();
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** Returns the path of the executable. @throws Error with a `remedy` if it is missing */
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

module.exports = { executable };
