/** A line to Temporal that a test can cut and mend: bytes are passed on as they are. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface CutRelay {
  /** host:port. */
  readonly address: string;
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function startCutRelay(target: string): Promise<CutRelay> {
  const [host = '', port = ''] = target.split(':');
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), host);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.setNoDelay(true);
      one.on('error', () => undefined);
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dropAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      dropAll();
    },
    mend() {
      isCut = false;
    },
    async close() {
      dropAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
