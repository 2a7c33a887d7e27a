/** The files of the built page in memory, as they are sent: with their type, plain and compressed. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

export interface PageFiles {
  readonly index: PageFile;
  /** By their names below `/assets/`, which change with their content. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** @param folder of the built page. @throws when a file cannot be read or is of no kind that a page has. */
export async function readPageFiles(folder: string): Promise<PageFiles> {
  const assets = new Map<string, PageFile>();
  for (const name of await readdir(join(folder, 'assets'))) {
    assets.set(name, await readPageFile(join(folder, 'assets', name)));
  }
  return { index: await readPageFile(join(folder, 'index.html')), assets };
}

async function readPageFile(path: string): Promise<PageFile> {
  const type = types[extname(path)];
  if (type === undefined) throw new Error(`${path}: no kind of file that the page has`);
  const plain = await readFile(path);
  const gzipped = await promisify(gzip)(plain);
  return { type, plain, gzipped, etag: `"${createHash('sha256').update(plain).digest('hex').slice(0, 32)}"` };
}
