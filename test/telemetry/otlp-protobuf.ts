/** Reads OTLP's protobuf of traces, as far as the tests look, into the form of its JSON. */
import protobuf from 'protobufjs';

/** Field numbers of opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Value {
    oneof value { string stringValue = 1; bool boolValue = 2; int64 intValue = 3; double doubleValue = 4; Values arrayValue = 5; }
  }
  message Values { repeated Value values = 1; }
  message Attribute { string key = 1; Value value = 2; }
  message Link { bytes traceId = 1; bytes spanId = 2; }
  message Status { string message = 2; int32 code = 3; }
  message Span {
    bytes traceId = 1; bytes spanId = 2; bytes parentSpanId = 4; string name = 5; int32 kind = 6;
    fixed64 startTimeUnixNano = 7; fixed64 endTimeUnixNano = 8; repeated Attribute attributes = 9;
    repeated Link links = 13; Status status = 15;
  }
  message ScopeSpans { repeated Span spans = 2; }
  message Resource { repeated Attribute attributes = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopeSpans = 2; }
  message Export { repeated ResourceSpans resourceSpans = 1; }
`);
const exportType = root.lookupType('Export');

export function decodeTraces(bytes: Uint8Array): unknown {
  const plain = exportType.toObject(exportType.decode(bytes), {
    bytes: String,
    longs: String,
    oneofs: false,
  });
  return withHexIds(plain);
}

function withHexIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withHexIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      name.endsWith('Id') && typeof inner === 'string'
        ? [name, Buffer.from(inner, 'base64').toString('hex')]
        : [name, withHexIds(inner)],
    ),
  );
}
