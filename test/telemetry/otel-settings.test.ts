import { expect, it } from 'vitest';
import { parseOtelSettings } from '../../telemetry/otel-settings.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

it.each([
  {},
  { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' },
  { ...endpoint, OTEL_SDK_DISABLED: 'true' },
  { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
  { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense' },
])('nothing is traced with %j', (environment) => {
  expect(parseOtelSettings(environment)).toBeNull();
});

it('an endpoint is enough', () => {
  expect(parseOtelSettings(endpoint)).toEqual({
    url: 'http://collector:4318/v1/traces',
    protocol: 'http/protobuf',
    headers: {},
    exportTimeoutMs: 10_000,
    compression: 'none',
    serviceName: null,
    resource: {},
    sampler: { parentBased: true, ratio: 1 },
    queue: { maxSpans: 2_048, batchSpans: 512, delayMs: 5_000 },
  });
});

it('what is meant for traces goes before what is meant for all signals', () => {
  const settings = parseOtelSettings({
    ...endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/otlp?tenant=a',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a,x-all=1',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-one=2, authorization=Bearer%20b',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '500',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_SERVICE_NAME: 'mine',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=lab',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
  });
  expect(settings).toMatchObject({
    url: 'https://traces.example/otlp?tenant=a',
    protocol: 'http/json',
    headers: { authorization: 'Bearer b', 'x-all': '1', 'x-one': '2' },
    exportTimeoutMs: 500,
    compression: 'gzip',
    serviceName: 'mine',
    resource: { 'deployment.environment.name': 'lab' },
    queue: { maxSpans: 100, batchSpans: 100 },
  });
});

it('a path of the endpoint stays before that of traces', () => {
  const settings = parseOtelSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://host/otlp/' });
  expect(settings?.url).toBe('https://host/otlp/v1/traces');
});

it.each([
  ['always_on', undefined, { parentBased: false, ratio: 1 }],
  ['always_off', undefined, { parentBased: false, ratio: 0 }],
  ['traceidratio', '0.25', { parentBased: false, ratio: 0.25 }],
  ['parentbased_always_off', undefined, { parentBased: true, ratio: 0 }],
  ['parentbased_traceidratio', '0.5', { parentBased: true, ratio: 0.5 }],
])('sampler %s with %s', (sampler, argument, expected) => {
  const settings = parseOtelSettings({
    ...endpoint,
    OTEL_TRACES_SAMPLER: sampler,
    OTEL_TRACES_SAMPLER_ARG: argument,
  });
  expect(settings?.sampler).toEqual(expected);
});

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', /OTEL_EXPORTER_OTLP_ENDPOINT: got 'collector:4318'/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://', /expected an address such as http:\/\/127\.0\.0\.1:4318/],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /got 'grpc', expected http\/protobuf or http\/json/],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'br', /expected gzip or none/],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '0', /OTEL_EXPORTER_OTLP_TIMEOUT: got '0', expected a whole number/],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'Bearer s3cret', /OTEL_EXPORTER_OTLP_HEADERS: expected name=value pairs/],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /got 'jaeger_remote', expected one of always_on/],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '1e9', /OTEL_BSP_MAX_QUEUE_SIZE/],
])('%s=%s is refused in one line', (name, value, words) => {
  const parse = (): unknown => parseOtelSettings({ ...endpoint, [name]: value });
  expect(parse).toThrow(words);
  expect(parse).not.toThrow(/s3cret|\n/);
});

it('a share that is none is refused, and an address with a password is not shown', () => {
  const ratio = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' };
  expect(() => parseOtelSettings({ ...endpoint, ...ratio })).toThrow(/OTEL_TRACES_SAMPLER_ARG: got '2'/);
  const secret = { OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://me:s3cret@host' };
  expect(() => parseOtelSettings(secret)).toThrow(/one with a user name/);
  expect(() => parseOtelSettings(secret)).not.toThrow(/s3cret/);
});
