/** Keys and signatures of public archives, compared with published test vectors. */
import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ArchiveHead, headBytes } from '../../src/archive/head.ts';
import {
  ARCHIVE_KEY,
  envelopeBytes,
  loadOrCreateSigner,
  loadRequiredSigner,
  newPrivateKey,
  PUBLIC_KEY,
  parseEnvelope,
  parseSigner,
  verifiedPayload,
} from '../../src/archive/signing.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

/** RFC 8032, section 7.1, test 1: the private key in the form of RFC 8410. */
const SECRET = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
const PUBLIC = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
const OF_EMPTY =
  'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b';
const PEM = [
  '-----BEGIN PRIVATE KEY-----',
  Buffer.from(`302e020100300506032b657004220420${SECRET}`, 'hex').toString('base64'),
  '-----END PRIVATE KEY-----',
].join('\n');

/** A head and its signature, to test other programs that verify archives. */
const HEAD =
  '{"format":1,"archive":{"format":1,"chain_id":1,"network":"mainnet","identity":"66687aadf862bd776c8fc18b8e9f8e20","public":true},"written_at":"2026-01-02T03:04:05.000Z","entry":1,"chain":"66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925","base":null,"segments":[],"open":"open-one.zst"}';
const SIGNATURE = 'rmzb8BRlAP3fMdUs+mMLvfc/Uc2FCYaRy9e9eQ9k8HA4cDVMM1xza7l++QvDh+o0ioUW6d2lSl0WGd0SeGoUBg==';

test('the example head has the example signature, and docs/backup.md its public key', () => {
  const signer = parseSigner(PEM)!;
  const envelope = parseEnvelope(headBytes(JSON.parse(HEAD) as ArchiveHead, signer))!;
  expect(Buffer.from(envelope.payload, 'base64').toString()).toBe(HEAD);
  expect(envelope.signatures[0]!.sig).toBe(SIGNATURE);
  expect(readFileSync(join(import.meta.dir, '../../docs/backup.md'), 'utf8')).toContain(signer.publicKey);
});

const folder = dataDirectory();
afterAll(() => folder[Symbol.dispose]());

test('a key and its signature equal the vectors of RFC 8032', () => {
  const signer = parseSigner(PEM)!;
  expect(signer.publicKey).toBe(`ed25519:${Buffer.from(PUBLIC, 'hex').toString('base64')}`);
  expect(signer.publicKey).toMatch(new RegExp(PUBLIC_KEY));
  expect(Buffer.from(signer.sign(new Uint8Array())).toString('hex')).toBe(OF_EMPTY);
});

describe('an envelope', () => {
  const signer = parseSigner(PEM)!;
  const payload = Buffer.from('hello world');
  const TYPE = 'http://example.com/HelloWorld';
  const bytes = envelopeBytes(TYPE, payload, signer);

  test('signs the bytes from the example in the DSSE specification', () => {
    const signed = Buffer.from('DSSEv1 29 http://example.com/HelloWorld 11 hello world');
    expect(JSON.parse(bytes.toString())).toEqual({
      payloadType: TYPE,
      payload: 'aGVsbG8gd29ybGQ=',
      signatures: [{ keyid: signer.publicKey, sig: Buffer.from(signer.sign(signed)).toString('base64') }],
    });
  });

  test('returns its payload only for the right key and the right type', () => {
    const envelope = parseEnvelope(bytes)!;
    expect(verifiedPayload(envelope, TYPE, signer.publicKey)).toEqual(payload);
    expect(verifiedPayload(envelope, 'http://example.com/Other', signer.publicKey)).toBeNull();
    const retyped = { ...envelope, payloadType: 'http://example.com/Other' };
    expect(verifiedPayload(retyped, 'http://example.com/Other', signer.publicKey)).toBeNull();
    const other = parseSigner(newPrivateKey())!;
    expect(verifiedPayload(envelope, TYPE, other.publicKey)).toBeNull();
    // One valid signature is enough, so that an archive can change its key.
    const both = {
      ...envelope,
      signatures: [...parseEnvelope(envelopeBytes(TYPE, payload, other))!.signatures, ...envelope.signatures],
    };
    expect(verifiedPayload(both, TYPE, other.publicKey)).toEqual(payload);
    expect(verifiedPayload(both, TYPE, signer.publicKey)).toEqual(payload);
    expect(verifiedPayload({ ...envelope, signatures: [] }, TYPE, signer.publicKey)).toBeNull();
  });

  test('with a changed byte is rejected, or returns the same payload', () => {
    let accepted = 0;
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes);
      changed[index]! ^= 1;
      const envelope = parseEnvelope(changed);
      const verified = envelope === null ? null : verifiedPayload(envelope, TYPE, signer.publicKey);
      // The key id, white space and unused base64 bits aren't signed. They leave the payload unchanged.
      if (verified !== null) {
        accepted += 1;
        expect(verified).toEqual(payload);
      }
    }
    expect(accepted).toBeLessThan(signer.publicKey.length + 10);
    for (const text of ['', 'null', '[]', '{"payload":1}', '\u0000'])
      expect(parseEnvelope(Buffer.from(text))).toBeNull();
  });
});

describe('the key file', () => {
  const directory = (name: string): string => join(folder.path, name);

  test('is created once, readable only by its owner, and openssl can read it', () => {
    const path = directory('new');
    const { publicKey } = loadOrCreateSigner(path);
    expect(loadOrCreateSigner(path).publicKey).toBe(publicKey);
    expect(loadRequiredSigner(path).publicKey).toBe(publicKey);
    const file = join(path, ARCHIVE_KEY);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    const { stdout } = Bun.spawnSync(['openssl', 'pkey', '-in', file, '-pubout', '-outform', 'DER']);
    expect(stdout.subarray(-32).toString('base64')).toBe(publicKey.slice('ed25519:'.length));
  });

  test('can be generated with openssl', () => {
    const path = directory('openssl');
    loadOrCreateSigner(path);
    Bun.spawnSync(['openssl', 'genpkey', '-algorithm', 'ed25519', '-out', join(path, ARCHIVE_KEY)]);
    expect(loadOrCreateSigner(path).publicKey).toMatch(new RegExp(PUBLIC_KEY));
  });

  test('is not created by a host of a cluster, since the other hosts would lack it', () => {
    expect(() => loadRequiredSigner(directory('host'))).toThrow(
      `Can't sign the public archive: ${join(directory('host'), ARCHIVE_KEY)} is missing.`,
    );
    expect(() => loadRequiredSigner(directory('host'))).toThrow(OperatorError);
  });

  test('is never replaced if it contains something else', () => {
    const path = directory('other');
    loadOrCreateSigner(path);
    const file = join(path, ARCHIVE_KEY);
    const others = [
      'nothing',
      '',
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
      Bun.spawnSync(['openssl', 'genpkey', '-algorithm', 'x25519']).stdout.toString(),
    ];
    for (const text of others) {
      writeFileSync(file, text);
      expect(() => loadOrCreateSigner(path)).toThrow(`${file} holds no Ed25519 key in PKCS#8 and PEM.`);
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
    if (process.getuid?.() === 0) return;
    chmodSync(file, 0);
    expect(() => loadOrCreateSigner(path)).toThrow(`${file} can't be read.`);
  });
});
