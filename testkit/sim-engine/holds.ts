/** Streams that a test holds: the engine works, its bytes wait until the test lets them pass. */
import type { ReplyStream } from './reply-stream.ts';
import type { RequestRecord } from './request-log.ts';

/** A stream that a test holds: the engine works, its bytes wait. */
export interface HeldStream {
  /** When the request has come in and was not refused or failed by a fault. */
  readonly arrived: Promise<RequestRecord>;
  /** Lets the next `count` events pass (default 1), as soon as the engine has them. */
  release(count?: number): void;
  releaseAll(): void;
  /** Closes the connection after what has passed. */
  cut(): void;
}

export interface Holds {
  /**
   * The next request for which `match` holds (default: any) is held.
   * @throws Error when 1,000 holds are open.
   */
  holdNext(match?: (record: RequestRecord) => boolean): HeldStream;
  /** The hold on this request; null: it passes. */
  claim(record: RequestRecord): { onStream(stream: ReplyStream): void } | null;
}

const maxHolds = 1_000;

interface Hold {
  readonly match: (record: RequestRecord) => boolean;
  readonly claim: (record: RequestRecord) => { onStream(stream: ReplyStream): void };
}

export function createHolds(): Holds {
  const holds: Hold[] = [];
  return {
    holdNext(match = () => true) {
      if (holds.length >= maxHolds) throw new Error(`more than ${maxHolds} holds are open`);
      const { hold, held } = createHold(match);
      holds.push(hold);
      return held;
    },
    claim(record) {
      const index = holds.findIndex(({ match }) => match(record));
      return index === -1 ? null : (holds.splice(index, 1)[0]?.claim(record) ?? null);
    },
  };
}

function createHold(match: Hold['match']): { hold: Hold; held: HeldStream } {
  let stream: ReplyStream | null = null;
  let permits = 0;
  let cutting = false;
  let arrive: (record: RequestRecord) => void = () => undefined;
  const arrived = new Promise<RequestRecord>((resolve) => {
    arrive = resolve;
  });
  return {
    hold: {
      match,
      claim: (record) => ({
        onStream(opened) {
          stream = opened;
          if (permits > 0) opened.release(permits);
          if (cutting) opened.cut();
          arrive(record);
        },
      }),
    },
    held: {
      arrived,
      release(count = 1) {
        if (stream === null) permits += count;
        else stream.release(count);
      },
      releaseAll() {
        if (stream === null) permits = Number.POSITIVE_INFINITY;
        else stream.release(Number.POSITIVE_INFINITY);
      },
      cut() {
        if (stream === null) cutting = true;
        else stream.cut();
      },
    },
  };
}
