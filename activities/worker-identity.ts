/**
 * How a worker names itself in Temporal: as Temporal's own workers do, and where its HTTP server is, so that
 * whoever reads in Temporal which worker a turn is at can ask that one what it writes.
 */
import { hostname, networkInterfaces } from 'node:os';

/** @param port of its HTTP server, which is bound to `host`. */
export function workerIdentity(host: string, port: number): string {
  return `${process.pid}@${hostname()} http://${reachable(host)}:${port}`;
}

/** Of a server that is bound to all addresses, the first that others can reach. */
function reachable(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host.includes(':') ? `[${host}]` : host;
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
