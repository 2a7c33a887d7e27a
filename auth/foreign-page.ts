/**
 * Whether a web page of another site asks. Where no token proves who asks, a page that a browser shows could
 * reach a service of this machine under a name of its own (DNS rebinding): its requests name where they come
 * from, or a host that is not this machine. Programs that are built with web pages (`vscode-webview:`, `app:`,
 * `file:` and the like) are no such pages. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http';

const loopbackHost = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/** @param localAddress at which the request has arrived; on loopback the host that it names is looked at too. */
export function isForeignPage(
  { origin, host }: IncomingHttpHeaders,
  localAddress: string | undefined,
): boolean {
  // A page in a sandbox of a foreign one calls its origin `null`.
  if (origin === 'null') return true;
  if (origin !== undefined && /^https?:/i.test(origin))
    return !loopbackHost.test(origin.replace(/^https?:\/\//i, ''));
  return isLoopbackAddress(localAddress) && host !== undefined && !loopbackHost.test(host);
}

function isLoopbackAddress(address: string | undefined): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address ?? '');
}
