/** Answers what is no request that a route could see: a broken or overlong head, a body that never came. */
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Fault, faultReply, sendFault } from './faults.ts';

/**
 * @param error what Node's HTTP parser met.
 * @param underWay the response that this connection waits for; null: no request has been understood on it.
 * @returns what was answered where nobody else tells of it; null when the request under way does, or there
 *   was nobody to answer.
 */
export function answerMalformed(
  error: Error,
  socket: Socket,
  headerBytes: number,
  underWay: ServerResponse | null,
): Fault | null {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return null;
  }
  const fault = faultOf(code, headerBytes);
  if (underWay === null) {
    answer(socket, fault);
    return fault;
  }
  const { req: request } = underWay;
  if (underWay.headersSent || request.complete) {
    // An error text amid a reply, or in the place of one, would be taken for it.
    socket.destroy();
    return null;
  }
  sendFault(underWay, fault, { connection: 'close' });
  // Whoever waits for the rest of the body must hear that there is none.
  socket.once('close', () => request.destroy());
  socket.destroySoon();
  return null;
}

function answer(socket: Socket, fault: Fault): void {
  const { status, headers, body } = faultReply(fault, null);
  const lines = Object.entries({
    ...headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n${body}`, () =>
    socket.destroy(),
  );
}

function faultOf(code: string | undefined, headerBytes: number): Fault {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Fault('invalid_header', `the headers are larger than ${headerBytes} bytes`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Fault('invalid_request', 'the request was not complete in time');
    default:
      return new Fault('invalid_request', 'the request is not HTTP/1.1');
  }
}
