/**
 * What a request must have before it is looked at: a change is asked for in JSON, and, where no token
 * proves who asks, not by a web page of another site. A browser sends such a page's JSON only after a
 * question that is never granted here; this holds for what it sends all the same. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Admitted } from '../../auth/grant.ts';
import { ApiFault, mediaTypeFault } from './api-fault.ts';

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** @throws ApiFault for a change that must not be made. */
export function guardChange(headers: IncomingHttpHeaders, grant: Admitted): void {
  if (!isJson(headers['content-type'])) throw mediaTypeFault();
  // A page of another site has no token, and the header that carries it is never sent by itself.
  if (grant.kind !== 'open') return;
  if (headers['sec-fetch-site'] === 'cross-site' || !isOwnOrigin(headers)) {
    throw new ApiFault(
      'cross_site',
      `a change asked for by the web page ${headers.origin ?? 'of another site'} is refused here; open the page of this server instead, or set FERMATA_TOKEN and send it`,
    );
  }
}

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/json\s*(;|$)/i.test(contentType.trim());
}

/** No origin: it is not a web page that asks. On this machine one port may serve the page of another. */
function isOwnOrigin({ origin, host = '' }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return true;
  const from = urlOf(origin);
  const to = urlOf(`http://${host}`);
  if (from === null || to === null) return false;
  return from.host === to.host || (loopbackNames.has(from.hostname) && loopbackNames.has(to.hostname));
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
