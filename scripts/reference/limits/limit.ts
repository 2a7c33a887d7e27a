/** One bound of the code as the documentation tells it: where it stands, and what happens at it. */
export interface Limit {
  readonly what: string;
  readonly file: string;
  /** Of the constant or field in it. */
  readonly name: string;
  readonly atIt: string;
  /** What changes it; absent: nothing. */
  readonly setting?: string;
  /** Text behind which the field stands. */
  readonly after?: string;
}

type Row = readonly [what: string, name: string, atIt: string, setting?: string, after?: string];

/** The limits of one file. */
export const limitsOf = (file: string, ...rows: readonly Row[]): Limit[] =>
  rows.map(([what, name, atIt, setting, after]) => ({
    what,
    file,
    name,
    atIt,
    ...(setting === undefined || setting === '' ? {} : { setting }),
    ...(after === undefined ? {} : { after }),
  }));
