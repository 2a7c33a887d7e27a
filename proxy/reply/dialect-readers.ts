/** What reads the replies of an API, made once: a held turn keeps no functions of its own for it. */
import { DialectBodyReader } from './dialect-body-reader.ts';
import { DialectStreamReader } from './dialect-stream-reader.ts';
import type { ReplyDialect, ReplyReader, StreamReader } from './reply-reader.ts';

export interface DialectReaders {
  readonly streamReader: () => StreamReader;
  readonly bodyReader: () => ReplyReader;
}

/** @param dialect called for each reply: a dialect may keep something of the reply it reads. */
export function dialectReaders(dialect: () => ReplyDialect): DialectReaders {
  return {
    streamReader: () => new DialectStreamReader(dialect()),
    bodyReader: () => new DialectBodyReader(dialect()),
  };
}
