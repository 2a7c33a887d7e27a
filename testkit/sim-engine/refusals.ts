/** Answers that are errors: refusals in the shape of the API and the faults that a test ordered. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Fault } from './core/directives.ts';
import { errorBody } from './error-body.ts';
import type { RequestLog, RequestRecord } from './request-log.ts';

/** Does what `fault` says instead of a reply; a cut is done by the stream itself. */
export function applyFault(
  fault: Fault,
  incoming: IncomingMessage,
  response: ServerResponse,
  record: RequestRecord,
  log: RequestLog,
): void {
  switch (fault.kind) {
    case 'drop':
      log.end(record, 'failed');
      incoming.socket.destroy();
      break;
    case 'stall':
      response.once('close', () => {
        log.end(record, 'aborted');
      });
      break;
    case 'error':
      refuse(
        response,
        record,
        log,
        fault.status ?? 500,
        'A fault was ordered.',
        fault.retryAfterSeconds ?? null,
      );
      break;
    case 'rate-limit':
      refuse(response, record, log, 429, 'Too many requests.', fault.retryAfterSeconds ?? 1);
      break;
    case 'unavailable':
      refuse(response, record, log, 503, 'The engine is overloaded.', fault.retryAfterSeconds ?? 1);
      break;
    case 'cut':
      break;
    default:
      fault.kind satisfies never;
  }
}

/** Answers with an error and ends the record as refused. */
export function refuse(
  response: ServerResponse,
  record: RequestRecord,
  log: RequestLog,
  status: number,
  message: string,
  retryAfterSeconds: number | null,
): void {
  record.status = status;
  log.end(record, 'refused');
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
  response.end(JSON.stringify(errorBody(record.path, status, message)));
}
