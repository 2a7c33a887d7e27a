/**
 * OpenTelemetry's own environment variables, as far as they count here. Pure.
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */

export interface OtelSettings {
  /** Where traces are posted to, path included. */
  readonly url: string;
  readonly protocol: 'http/json' | 'http/protobuf';
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds that one export may take, its retries included. */
  readonly exportTimeoutMs: number;
  readonly compression: 'gzip' | 'none';
  /** null: each service has a name of its own. */
  readonly serviceName: string | null;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: SamplerSetting;
  readonly queue: { readonly maxSpans: number; readonly batchSpans: number; readonly delayMs: number };
}

export interface SamplerSetting {
  /** Whether a trace that began elsewhere is kept when it is kept there. */
  readonly parentBased: boolean;
  /** Share of the traces that begin here, 0 to 1. */
  readonly ratio: number;
}

/** A setting that cannot be used; its message is one readable line. */
export class OtelSettingsFault extends Error {
  override readonly name = 'OtelSettingsFault';
}

const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
];
const mostQueuedSpans = 65_536;

/**
 * null: nothing is to be traced.
 * @throws OtelSettingsFault with one line that names the variable, what was given and what is expected.
 */
export function parseOtelSettings(
  environment: Readonly<Record<string, string | undefined>>,
): OtelSettings | null {
  const text = (name: string): string | null => {
    const value = environment[name]?.trim();
    return value === undefined || value === '' ? null : value;
  };
  const ofTraces = (name: string): readonly [name: string, value: string | null] => {
    const own = `OTEL_EXPORTER_OTLP_TRACES_${name}`;
    return text(own) === null
      ? [`OTEL_EXPORTER_OTLP_${name}`, text(`OTEL_EXPORTER_OTLP_${name}`)]
      : [own, text(own)];
  };
  const whole = (name: string, fallback: number, most: number): number => {
    const value = text(name);
    if (value === null) return fallback;
    if (/^\d{1,9}$/.test(value) && Number(value) >= 1 && Number(value) <= most) return Number(value);
    throw new OtelSettingsFault(`${name}: got '${value}', expected a whole number from 1 to ${most}`);
  };
  if (text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || text('OTEL_TRACES_EXPORTER') === 'none') {
    return null;
  }
  const [endpointName, endpoint] = ofTraces('ENDPOINT');
  if (endpoint === null) return null;
  const maxSpans = whole('OTEL_BSP_MAX_QUEUE_SIZE', 2_048, mostQueuedSpans);
  return {
    url: readUrl(endpointName, endpoint),
    protocol: readProtocol(...ofTraces('PROTOCOL')),
    headers: {
      ...readPairs('OTEL_EXPORTER_OTLP_HEADERS', text('OTEL_EXPORTER_OTLP_HEADERS')),
      ...readPairs('OTEL_EXPORTER_OTLP_TRACES_HEADERS', text('OTEL_EXPORTER_OTLP_TRACES_HEADERS')),
    },
    exportTimeoutMs: whole(ofTraces('TIMEOUT')[0], 10_000, 60_000),
    compression: readCompression(...ofTraces('COMPRESSION')),
    serviceName: text('OTEL_SERVICE_NAME'),
    resource: readPairs('OTEL_RESOURCE_ATTRIBUTES', text('OTEL_RESOURCE_ATTRIBUTES')),
    sampler: readSampler(text('OTEL_TRACES_SAMPLER'), text('OTEL_TRACES_SAMPLER_ARG')),
    queue: {
      maxSpans,
      batchSpans: Math.min(maxSpans, whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, mostQueuedSpans)),
      delayMs: whole('OTEL_BSP_SCHEDULE_DELAY', 5_000, 60_000),
    },
  };
}

/** Only the address that is meant for all signals gets a path added. */
function readUrl(name: string, value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    // It may hold a password.
    const given = value.includes('@') ? 'one with a user name' : `'${value}'`;
    throw new OtelSettingsFault(`${name}: got ${given}, expected an address such as http://127.0.0.1:4318`);
  }
  if (name === 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') return url.href;
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`;
  return url.href;
}

function readProtocol(name: string, value: string | null): OtelSettings['protocol'] {
  if (value === null) return 'http/protobuf';
  if (value === 'http/json' || value === 'http/protobuf') return value;
  throw new OtelSettingsFault(`${name}: got '${value}', expected http/protobuf or http/json`);
}

function readCompression(name: string, value: string | null): OtelSettings['compression'] {
  if (value === null || value === 'none') return 'none';
  if (value === 'gzip') return value;
  throw new OtelSettingsFault(`${name}: got '${value}', expected gzip or none`);
}

function readSampler(name: string | null, argument: string | null): SamplerSetting {
  if (name === null) return { parentBased: true, ratio: 1 };
  if (!samplerNames.includes(name)) {
    throw new OtelSettingsFault(
      `OTEL_TRACES_SAMPLER: got '${name}', expected one of ${samplerNames.join(', ')}`,
    );
  }
  const parentBased = name.startsWith('parentbased_');
  if (name.endsWith('always_on')) return { parentBased, ratio: 1 };
  if (name.endsWith('always_off')) return { parentBased, ratio: 0 };
  const ratio = Number(argument ?? '1');
  if (ratio >= 0 && ratio <= 1) return { parentBased, ratio };
  throw new OtelSettingsFault(
    `OTEL_TRACES_SAMPLER_ARG: got '${argument}', expected a share from 0 to 1 such as 0.1`,
  );
}

/** `key=value,key=value`, both percent-encoded. The values of headers are secrets, so no message has them. */
function readPairs(name: string, value: string | null): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const part of (value ?? '').split(',')) {
    if (part.trim() === '') continue;
    const at = part.indexOf('=');
    const key = part.slice(0, Math.max(0, at)).trim();
    try {
      if (key === '') throw new Error('no name');
      pairs[decodeURIComponent(key)] = decodeURIComponent(part.slice(at + 1).trim());
    } catch {
      throw new OtelSettingsFault(`${name}: expected name=value pairs with commas between them`);
    }
  }
  return pairs;
}
