/** Counts what went wrong and keeps the first few reasons. */
export class Failures {
  count = 0;
  readonly reasons: string[] = [];

  add(reason: string): void {
    this.count += 1;
    const short = reason.slice(0, 200);
    if (this.reasons.length < 5 && !this.reasons.includes(short)) this.reasons.push(short);
  }
}
