/**
 * What makes an endpoint that carries turns: its path, how to read its request, and how to read the copy
 * of its replies. A new API is a new descriptor; the path of a turn stays one.
 */
import type { Api } from '../../contracts/config-file.ts';
import type { PoolReplica } from '../../contracts/link-protocol.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';
import type { Conversation } from '../identity/conversation.ts';
import type { ReplyReader, StreamReader } from '../reply/reply-reader.ts';

export interface TurnRequest {
  /** What a replica must serve. */
  readonly api: Api;
  /** Below a replica's root; a function where it is not the same on all. */
  readonly upstreamPath: string | ((replica: PoolReplica) => string);
  /** null: whatever the pool serves. */
  readonly model: string | null;
  /** Tokens the request allows for the reply; null when it sets no limit. */
  readonly maxTokens: number | null;
  readonly conversation: Conversation;
  /** The bytes that go to the engine: the client's own but for {@link withholdUsage} and {@link translate}. */
  bodyFor(replica: PoolReplica): Buffer;
  /** A stream's usage was asked for by us, so its chunk is kept from the client. */
  readonly withholdUsage: boolean;
  /** Overrides the class that the headers name. */
  readonly class: ServiceClass | null;
  /**
   * Absent: it goes on with its client's run. `own`: a run of its own that ends with it. `none`: of no run, as
   * its API has none: a run header is ignored and nothing is remembered.
   */
  readonly runState?: 'own' | 'none';
  /** The request is about what one replica keeps, or begins something there: no other replica may get it too. */
  readonly repeatable?: false;
  /** Set when this request is one of ours: a 200 is answered with this instead. */
  readonly translate: ((reply: Buffer) => string) | null;
  readonly streamReader: () => StreamReader;
  readonly bodyReader: () => ReplyReader;
}

export interface ApiDescriptor {
  /** Name in the access log and the metrics. */
  readonly name: string;
  readonly path: string;
  /** @throws Fault `invalid_json` or `invalid_request`. */
  readRequest(body: Buffer): TurnRequest;
}
