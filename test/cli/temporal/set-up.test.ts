import { describe, expect, it } from 'vitest';
import { parseRetention, retentionText } from '../../../cli/temporal/namespace.ts';
import { setUpTemporal, shortRetention } from '../../../cli/temporal/set-up.ts';
import { isTemporalCloud, missingNamespaceWords, refusalWords } from '../../../temporal/refusal-words.ts';

const nothing = { createNamespace: false, retentionHours: null, checkOnly: false };
const onCloud = { address: 'eu-central-1.aws.api.temporal.io:7233', namespace: 'agents.a1b2c' };

describe('a retention', () => {
  it('is hours or days', () => {
    expect(['72h', '7d', ' 1h '].map(parseRetention)).toEqual([72, 168, 1]);
  });

  it.each(['', '7', 'd', '0h', '-1d', '1.5h', '90m', '1w', '7 d', '123456h'])('is not %j', (text) => {
    expect(parseRetention(text)).toBeNull();
  });

  it('is told in hours, and complained of below three days', () => {
    expect([72, 1.5, 24].map(retentionText)).toEqual(['72 h', '1.5 h', '24 h']);
    expect(shortRetention(72)).toBeNull();
    expect(shortRetention(71)).toMatch(/kept for 71 h only/);
  });
});

describe('on Temporal Cloud', () => {
  it.each([
    ['agents.a1b2c.tmprl.cloud:7233', true],
    ['eu-central-1.aws.api.temporal.io:7233', true],
    ['temporal.example:7233', false],
    ['tmprl.cloud.example:7233', false],
    ['127.0.0.1:7233', false],
  ])('%s is on it: %s', (address, is) => {
    expect(isTemporalCloud(address)).toBe(is);
  });

  it('nobody is asked to create a namespace or to set a retention: the command is told that does', async () => {
    await expect(setUpTemporal(onCloud, { ...nothing, createNamespace: true })).rejects.toThrow(
      /tcld namespace create --namespace agents --region .*--search-attribute FermataStatus=Keyword/,
    );
    await expect(setUpTemporal(onCloud, { ...nothing, retentionHours: 168 })).rejects.toThrow(
      /tcld namespace retention set --namespace agents\.a1b2c --retention-days 7/,
    );
  });

  it('a missing namespace has another remedy than elsewhere', () => {
    expect(missingNamespaceWords(onCloud)).toContain('its name is NAME.ACCOUNT: set TEMPORAL_NAMESPACE');
    const own = { address: 'temporal:7233', namespace: 'agents' };
    expect(missingNamespaceWords(own)).toContain('`fermata setup temporal --create-namespace`');
  });
});

describe('a refusal', () => {
  const settings = { address: 'temporal:7233', namespace: 'agents' };
  const status = { code: 7, details: 'Request unauthorized.' };
  const certificate = { clientCertPair: { crt: new Uint8Array(), key: new Uint8Array() } };

  it('names what was shown, the namespace, and what Temporal says', () => {
    expect(refusalWords(status, { ...settings, apiKey: 'secret' })).toMatch(
      /refuses the API key \(TEMPORAL_API_KEY\).*namespace 'agents'.*Request unauthorized\./,
    );
    expect(refusalWords(status, { ...settings, tls: certificate })).toContain('the client certificate');
    expect(refusalWords(status, settings)).toContain('a caller without a key: set TEMPORAL_API_KEY');
  });

  it('never has the key in it', () => {
    expect(refusalWords(status, { ...settings, apiKey: 'tell-nobody' })).not.toContain('tell-nobody');
  });

  it('is none of any other failure', () => {
    expect(refusalWords({ code: 14, details: 'away' }, settings)).toBeNull();
  });
});
