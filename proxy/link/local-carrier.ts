/**
 * The link to a scheduler in the same process: messages are handed over as they are. What comes back is
 * delivered by the scheduler after the call that caused it has returned.
 */
import type { OpenLocalLink } from '../../contracts/link-protocol.ts';
import type { LinkCarrier } from './link-transport.ts';

export function localCarrier(openLink: OpenLocalLink): LinkCarrier {
  return {
    url: 'the scheduler in this process',
    open({ opened, received, lost }) {
      const link = openLink({ received, lost });
      queueMicrotask(link === null ? lost : opened);
      return {
        send: (message) => link?.send(message),
        sendSoon: (message) => link?.send(message),
        close: async () => link?.close(),
      };
    },
  };
}
