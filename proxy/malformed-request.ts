/** Answers what is no request that a route could see: a broken or overlong head, a body that never came. */
import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import { Fault, faultReply } from './faults.ts';

/** @param error what Node's HTTP parser met. */
export function answerMalformed(error: Error, socket: Socket, headerBytes: number): void {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = faultReply(faultOf(code, headerBytes), null);
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
