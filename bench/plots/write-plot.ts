/** Writes a chart beside the results: `bench/results/NAME.svg`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { chartSvg, type ChartSpec } from './chart.ts';

/** @throws RangeError when `name` is not a plain file name. */
export async function writePlot(
  name: string,
  spec: ChartSpec,
  directory = resolve(import.meta.dirname, '..', 'results'),
): Promise<void> {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name)) {
    throw new RangeError(`'${name}' cannot name a plot: small letters, digits and '-' only`);
  }
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${name}.svg`), chartSvg(spec));
}
