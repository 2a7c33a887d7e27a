/** A real PNG of grey noise: about as many bytes as it has pixels, the same for the same seed. */
import { crc32, deflateSync } from 'node:zlib';
import { createGenerator, hashText, nextInteger } from '../sim-engine/core/random.ts';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** @param width pixels a side. */
export function noisePng(seed: string, width: number): Buffer {
  const generator = createGenerator(hashText(seed));
  const rows = Buffer.alloc(width * (width + 1));
  for (let index = 0; index < rows.length; index += 1) {
    // The first byte of a row names its filter: none.
    rows[index] = index % (width + 1) === 0 ? 0 : nextInteger(generator, 0, 255);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(width, 4);
  // Eight bits of grey a pixel.
  header[8] = 8;
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)]);
}
