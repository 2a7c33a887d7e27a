/**
 * A port that takes no connection and refuses none: a thread listens with the shortest backlog and never
 * accepts, and the backlog is full, so the kernel drops whatever else comes.
 */
import { createConnection, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

const listener = `
const { createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const server = createServer();
server.listen({ port: workerData, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
`;

/** More than the kernel keeps of a backlog of one. */
const fillers = 4;

/** @param port 0: any free one. Resolves once a connection to it hangs. */
export async function startBlackhole(port = 0): Promise<{ port: number; close(): Promise<void> }> {
  const worker = new Worker(listener, { eval: true, workerData: port });
  const taken = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  const sockets: Socket[] = [];
  let connected = 0;
  for (let count = 0; count < fillers; count += 1) {
    const socket = createConnection({ port: taken, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.once('connect', () => {
      connected += 1;
    });
    sockets.push(socket);
  }
  // Loopback connects at once or not at all.
  let before = -1;
  while (connected !== before) {
    before = connected;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
  if (connected === fillers) throw new Error('the backlog takes more connections than it should');
  return {
    port: taken,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await worker.terminate();
    },
  };
}
