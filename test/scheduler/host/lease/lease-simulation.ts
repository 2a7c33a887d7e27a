/**
 * Several contenders for one lease in virtual time, with clocks of different speed, machines that are suspended,
 * processes that are stopped, go on, are killed and are replaced, and a store that is slow, loses questions and
 * answers, does late what was given up, and is tampered with. After each step: is more than one of them active?
 */
import type { Instant } from '../../../../scheduler/host/lease/lease-clock.ts';
import {
  createContender,
  isActive,
  nextMove,
  noteFailed,
  noteRead,
  noteWritten,
  standBy,
  type Contender,
  type Move,
} from '../../../../scheduler/host/lease/lease-rules.ts';
import type { LeaseEntry, LeaseRecord } from '../../../../scheduler/host/lease/lease-store.ts';
import { leaseTimes, type LeaseTimes } from '../../../../scheduler/host/lease/lease-times.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly contenders: number;
  readonly lengthMs: number;
  /** 0: nothing goes wrong. */
  readonly faults: number;
  readonly times?: LeaseTimes;
}

export interface SimulationReport {
  /** What broke the rule first; null: nothing. */
  readonly violation: string | null;
  /** How often somebody became active. */
  readonly takeovers: number;
  /** Share of the time in which somebody was active. */
  readonly covered: number;
  /** Kinds of faults that have come up. */
  readonly faults: ReadonlySet<string>;
}

interface Process {
  readonly name: string;
  readonly contender: Contender;
  /** Clock milliseconds for one true one. */
  readonly rate: number;
  readonly offsetMs: number;
  /** True milliseconds that its monotonic clock did not count. */
  suspendedMs: number;
  /** What its wall clock jumped forward beyond that. */
  jumpedMs: number;
  stoppedUntilMs: number;
  alive: boolean;
  wasActive: boolean;
  /** Operations that have not come out for the store yet. */
  underWay: number;
  step: number;
}

interface Scheduled {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export function simulateLease(options: SimulationOptions): SimulationReport {
  return new Simulation(options).run();
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #times: LeaseTimes;
  readonly #random: () => number;
  readonly #queue: Scheduled[] = [];
  readonly #processes: Process[] = [];
  readonly #faults = new Set<string>();
  #nowMs = 0;
  #order = 0;
  #version = 0;
  #stored: LeaseEntry = { version: null, record: null };
  #violation: string | null = null;
  #takeovers = 0;
  #coveredMs = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#times = options.times ?? leaseTimes;
    this.#random = randomFrom(options.seed);
  }

  run(): SimulationReport {
    const { contenders, lengthMs } = this.#options;
    for (let index = 0; index < contenders; index += 1) this.#begin();
    this.#plan(this.#between(500, 3_000), () => this.#disturb());
    while (this.#violation === null) {
      const next = this.#queue.shift();
      if (next === undefined || next.atMs > lengthMs) break;
      if (this.#active().length > 0) this.#coveredMs += next.atMs - this.#nowMs;
      this.#nowMs = next.atMs;
      next.run();
      this.#check();
    }
    return {
      violation: this.#violation,
      takeovers: this.#takeovers,
      covered: this.#coveredMs / lengthMs,
      faults: this.#faults,
    };
  }

  #begin(): void {
    const name = `p${this.#processes.length}`;
    const drift = this.#options.faults > 0 ? 0.13 : 0;
    const process: Process = {
      name,
      contender: createContender(name, this.#times),
      rate: 1 + this.#between(-drift, drift),
      offsetMs: this.#between(0, 1e6),
      suspendedMs: 0,
      jumpedMs: 0,
      stoppedUntilMs: 0,
      alive: true,
      wasActive: false,
      underWay: 0,
      step: 0,
    };
    process.contender.dueMs = this.#clock(process).slowMs;
    this.#processes.push(process);
    this.#plan(0, () => this.#go(process, process.step));
  }

  /** One turn of its loop; a turn that was overtaken by another is none. */
  #go(process: Process, step: number): void {
    if (!this.#runs(process, () => this.#go(process, step)) || process.step !== step) return;
    process.step += 1;
    const move = nextMove(process.contender, this.#clock(process));
    const again = process.step;
    if (move.kind === 'wait') {
      this.#plan(Math.max(0.1, move.forMs / process.rate), () => this.#go(process, again));
    } else if (process.underWay > 0) {
      noteFailed(process.contender, this.#clock(process));
      this.#plan(0.1, () => this.#go(process, again));
    } else this.#operate(process, move, again);
  }

  #operate(process: Process, move: Exclude<Move, { kind: 'wait' }>, again: number): void {
    const { contender } = process;
    const started = this.#clock(process);
    let over = false;
    const finish = (note: (now: Instant) => void): void => {
      if (over) return;
      if (!this.#runs(process, () => finish(note))) return;
      over = true;
      note(this.#clock(process));
      this.#go(process, again);
    };
    const lostBefore = this.#happens(0.05, 'a question was lost');
    const lostAfter = this.#happens(0.05, 'an answer was lost');
    process.underWay += 1;
    this.#plan(this.#latency(), () => {
      process.underWay -= 1;
      if (lostBefore) return;
      // What a process has asked for is done, whether it lives or not.
      const entry =
        move.kind === 'read' ? this.#stored : this.#write(this.#recordOf(move.holder), move.version);
      if (lostAfter) return;
      this.#plan(this.#latency(), () =>
        finish((now) => {
          if (move.kind === 'write') noteWritten(contender, entry, { started, now });
          else if (entry !== null) noteRead(contender, entry, now);
        }),
      );
    });
    this.#plan(this.#times.answerWithinMs / process.rate, () => finish((now) => noteFailed(contender, now)));
  }

  #write(record: LeaseRecord, version: string | null): LeaseEntry | null {
    if (this.#stored.version !== version) return null;
    this.#version += 1;
    this.#stored = { version: String(this.#version), record };
    return this.#stored;
  }

  /** Something goes wrong, now and then. */
  #disturb(): void {
    this.#plan(this.#between(200, 6_000), () => this.#disturb());
    if (this.#options.faults === 0) return;
    const living = this.#processes.filter(({ alive }) => alive);
    const active = living.filter((one) => isActive(one.contender, this.#clock(one)));
    // The active one is hit more often than the others: it is the interesting one.
    const among = active.length > 0 && this.#random() < 0.6 ? active : living;
    const victim = among[Math.floor(this.#random() * among.length)];
    if (victim === undefined) return;
    const forMs = this.#between(10, 6_000);
    const faults: readonly [string, () => void][] = [
      ['killed', () => this.#kill(victim)],
      ['stopped', () => (victim.stoppedUntilMs = this.#nowMs + forMs)],
      ['suspended', () => this.#suspend(victim, forMs)],
      ['its wall clock was set forward', () => (victim.jumpedMs += forMs)],
      ['told to stop', () => this.#giveBack(victim)],
      ['garbage in the lease', () => this.#tamper({ version: this.#stored.version, record: null })],
      [
        'the lease was edited',
        () => this.#tamper({ ...this.#stored, version: String((this.#version += 1)) }),
      ],
      ['the lease was removed', () => this.#tamper({ version: null, record: null })],
    ];
    const [name, happen] = faults[Math.floor(this.#random() * faults.length)] ?? ['', () => {}];
    this.#faults.add(name);
    happen();
  }

  #tamper(entry: LeaseEntry): void {
    if (this.#stored.version !== null) this.#stored = entry;
  }

  #kill(victim: Process): void {
    victim.alive = false;
    this.#plan(this.#between(0, 4_000), () => this.#begin());
  }

  #suspend(victim: Process, forMs: number): void {
    victim.stoppedUntilMs = this.#nowMs + forMs;
    victim.suspendedMs += forMs;
  }

  /** Stops acting, then gives the lease back. */
  #giveBack(victim: Process): void {
    const { seen } = victim.contender;
    const held = isActive(victim.contender, this.#clock(victim));
    standBy(victim.contender);
    this.#kill(victim);
    if (!held || seen === null) return;
    this.#plan(this.#latency(), () =>
      this.#write({ ...this.#recordOf(victim.name), holder: null }, seen.version),
    );
  }

  #check(): void {
    const active = this.#active();
    for (const process of this.#processes) {
      const is = active.includes(process);
      if (is && !process.wasActive) this.#takeovers += 1;
      process.wasActive = is;
    }
    if (active.length < 2) return;
    const names = active.map(({ name }) => name).join(' and ');
    this.#violation = `seed ${this.#options.seed}: ${names} are active at ${this.#nowMs.toFixed(1)} ms`;
  }

  /** Also one that is stopped: when it goes on, it may act as soon as it has looked at its clock. */
  #active(): Process[] {
    return this.#processes.filter((one) => one.alive && isActive(one.contender, this.#clock(one)));
  }

  #runs(process: Process, later: () => void): boolean {
    if (!process.alive) return false;
    if (this.#nowMs >= process.stoppedUntilMs) return true;
    this.#plan(process.stoppedUntilMs - this.#nowMs, later);
    return false;
  }

  #clock({ rate, offsetMs, suspendedMs, jumpedMs }: Process): Instant {
    const allMs = this.#nowMs * rate + offsetMs;
    return { slowMs: allMs - suspendedMs * rate, fastMs: allMs + jumpedMs };
  }

  #recordOf(holder: string): LeaseRecord {
    return { holder, durationMs: this.#times.durationMs, linkedProxies: null };
  }

  #latency(): number {
    if (this.#happens(0.03, 'the store was slow')) return this.#between(100, 4_000);
    return this.#between(0.1, 20);
  }

  #happens(probability: number, fault: string): boolean {
    if (this.#random() >= probability * this.#options.faults) return false;
    this.#faults.add(fault);
    return true;
  }

  #plan(inMs: number, run: () => void): void {
    const entry = { atMs: this.#nowMs + inMs, order: (this.#order += 1), run };
    let index = this.#queue.length;
    for (; index > 0; index -= 1) {
      const before = this.#queue[index - 1];
      if (before === undefined || before.atMs <= entry.atMs) break;
    }
    this.#queue.splice(index, 0, entry);
  }

  #between(low: number, high: number): number {
    return low + (high - low) * this.#random();
  }
}

/** Mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
