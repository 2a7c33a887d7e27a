/** A certificate authority of a test and what it signs, as PEM: for servers on loopback and their clients. */
import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  type X509Certificate,
} from '@peculiar/x509';

export interface KeyAndCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateAuthority {
  readonly cert: string;
  /** @param names host names and IP addresses that the certificate is good for. */
  sign(commonName: string, names: readonly string[]): Promise<KeyAndCertificate>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 86_400_000;

/** Its certificates hold for a day either way, whatever the clocks of a test say. */
export async function createCertificateAuthority(commonName: string): Promise<CertificateAuthority> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const authority = await X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: `CN=${commonName}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, 1, true)],
  });
  return {
    cert: authority.toString('pem'),
    sign: async (name, names) => await sign({ authority, signingKey: keys.privateKey }, name, names),
  };
}

async function sign(
  by: { readonly authority: X509Certificate; readonly signingKey: webcrypto.CryptoKey },
  commonName: string,
  names: readonly string[],
): Promise<KeyAndCertificate> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    ...validity(),
    subject: `CN=${commonName}`,
    issuer: by.authority.subject,
    publicKey: keys.publicKey,
    signingKey: by.signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false),
      new SubjectAlternativeNameExtension(
        names.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value })),
      ),
    ],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { cert: certificate.toString('pem'), key: key.export({ format: 'pem', type: 'pkcs8' }).toString() };
}

function validity(): { serialNumber: string; notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return {
    serialNumber: `01${randomBytes(8).toString('hex')}`,
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + dayMs),
  };
}
