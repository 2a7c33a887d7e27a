import { describe, expect, it } from 'vitest';
import { parseSettings, SettingsFault } from '../../contracts/settings.ts';

describe('settings', () => {
  it('have the documented defaults without any variable', () => {
    expect(parseSettings({ PATH: '/bin' })).toEqual({
      configPath: null,
      host: '127.0.0.1',
      stateDir: '.fermata',
      logLevel: 'info',
      ports: { proxy: 8080, mcp: 7000, scheduler: 5001, worker: 9464, temporal: 7233, temporalUi: 8233 },
      schedulerUrls: [],
      proxyUrls: [],
      schedulerLease: null,
      mcpUrl: null,
      temporalUiUrl: null,
      taskQueue: 'fermata',
      deployment: null,
      token: null,
      tokensFile: null,
      redisUrl: null,
      drainMs: 30_000,
      maxRunning: 100,
    });
  });

  it('take port 0 as any free port and cut trailing slashes of addresses', () => {
    const settings = parseSettings({ FERMATA_PROXY_PORT: '0', FERMATA_PROXY_URL: 'http://10.0.0.1:8080//' });
    expect(settings.ports.proxy).toBe(0);
    expect(settings.proxyUrls).toEqual(['http://10.0.0.1:8080']);
  });

  it('take several addresses in the order given', () => {
    const settings = parseSettings({
      FERMATA_SCHEDULER_URL: 'http://a:5001/, https://b:5001',
      FERMATA_PROXY_URL: 'http://10.0.0.1:8080,http://10.0.0.2:8080',
    });
    expect(settings.schedulerUrls).toEqual(['http://a:5001', 'https://b:5001']);
    expect(settings.proxyUrls).toEqual(['http://10.0.0.1:8080', 'http://10.0.0.2:8080']);
  });

  it.each([
    ['file:/var/lib/fermata/lease', { kind: 'file', path: '/var/lib/fermata/lease' }],
    ['file:lease', { kind: 'file', path: 'lease' }],
    ['kubernetes:scheduler', { kind: 'kubernetes', namespace: null, name: 'scheduler' }],
    ['kubernetes:agents/fermata.one', { kind: 'kubernetes', namespace: 'agents', name: 'fermata.one' }],
  ])('read the lease %s', (given, lease) => {
    expect(parseSettings({ FERMATA_SCHEDULER_LEASE: given }).schedulerLease).toEqual(lease);
  });

  it.each(['/var/lease', 'file:', 'kubernetes:', 'kubernetes:a/b/c', 'kubernetes:Upper', 'k8s:a', 'redis:x'])(
    'stop the start at the lease %s',
    (given) => {
      const read = (): unknown => parseSettings({ FERMATA_SCHEDULER_LEASE: given });
      expect(read).toThrow(SettingsFault);
      expect(read).toThrow(/^FERMATA_SCHEDULER_LEASE: got '.*', expected file:\/path/);
    },
  );

  it('treat an empty variable as absent', () => {
    expect(parseSettings({ FERMATA_HOST: '', FERMATA_LOG_LEVEL: ' ' }).host).toBe('127.0.0.1');
  });

  it.each([
    ['FERMATA_PROXY_PORT', '80a', "got '80a', expected a port"],
    ['FERMATA_PROXY_PORT', '-1', "got '-1', expected a port"],
    ['FERMATA_MCP_PORT', '70000', "got '70000', expected a port"],
    ['FERMATA_MCP_PORT', '1e3', "got '1e3', expected a port"],
    ['FERMATA_LOG_LEVEL', 'loud', 'expected one of fatal, error'],
    ['FERMATA_PROXY_URL', 'localhost:8080', 'expected an address such as http://'],
    ['FERMATA_PROXY_URL', 'http://a:1,', 'expected an address such as http://'],
    ['FERMATA_SCHEDULER_URL', 'http://a:1,http://a:1/', 'different ones with commas'],
    ['FERMATA_HOST', '0.0.0.0', 'FERMATA_ALLOW_OPEN=1'],
    ['FERMATA_PROXI_PORT', '1', 'unknown setting; known are'],
    ['FERMATA_TOKEN', 'tooshort', 'expected 16 to 512'],
    ['FERMATA_MAX_RUNS', '0', 'how many runs one caller may have at work at once'],
    ['FERMATA_REDIS_URL', 'localhost:6379', 'expected an address such as redis://'],
  ])('stop the start at %s=%s with one line that names it', (name, value, words) => {
    const read = (): unknown => parseSettings({ [name]: value });
    expect(read).toThrow(SettingsFault);
    expect(read).toThrow(new RegExp(`^${name}: .*`));
    expect(read).toThrow(words);
  });

  it('let an open bind through when it is allowed by name', () => {
    for (const guard of [
      { FERMATA_ALLOW_OPEN: '1' },
      { FERMATA_TOKEN: '0123456789abcdef' },
      { FERMATA_TOKENS_FILE: 'tokens.yaml' },
    ]) {
      expect(parseSettings({ FERMATA_HOST: '0.0.0.0', ...guard }).host).toBe('0.0.0.0');
    }
    for (const nothing of [
      {},
      { FERMATA_ALLOW_OPEN: '0' },
      { FERMATA_TOKEN: ' ', FERMATA_TOKENS_FILE: '' },
    ]) {
      expect(() => parseSettings({ FERMATA_HOST: '0.0.0.0', ...nothing })).toThrow(SettingsFault);
    }
  });

  it('give a worker a version when both of its parts are set', () => {
    expect(
      parseSettings({ FERMATA_DEPLOYMENT: 'fermata', FERMATA_BUILD_ID: '1.4.0-2f9c' }).deployment,
    ).toEqual({ name: 'fermata', buildId: '1.4.0-2f9c' });
    expect(parseSettings({ FERMATA_DEPLOYMENT: '', FERMATA_BUILD_ID: ' ' }).deployment).toBeNull();
  });

  it.each([
    [{ FERMATA_DEPLOYMENT: 'fermata' }, "FERMATA_BUILD_ID: missing beside FERMATA_DEPLOYMENT 'fermata'"],
    [{ FERMATA_BUILD_ID: '7' }, "FERMATA_DEPLOYMENT: missing beside FERMATA_BUILD_ID '7'"],
    [{ FERMATA_DEPLOYMENT: 'a.b', FERMATA_BUILD_ID: '7' }, "FERMATA_DEPLOYMENT: got 'a.b', expected 1 to 64"],
    [{ FERMATA_DEPLOYMENT: '__a', FERMATA_BUILD_ID: '7' }, "FERMATA_DEPLOYMENT: got '__a', expected 1 to 64"],
    [{ FERMATA_DEPLOYMENT: 'a', FERMATA_BUILD_ID: 'x:1' }, "FERMATA_BUILD_ID: got 'x:1', expected 1 to 128"],
  ])('refuse half a version or one that Temporal cannot name: %j', (environment, words) => {
    const read = (): unknown => parseSettings(environment);
    expect(read).toThrow(SettingsFault);
    expect(read).toThrow(words);
  });
});
