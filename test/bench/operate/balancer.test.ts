import { describe, expect, it } from 'vitest';
import { AskFault } from '../../../bench/agents/ask.ts';
import { whyPassedOn } from '../../../bench/operate/agents.ts';
import { Balancer } from '../../../bench/operate/balancer.ts';
import { doubledAsks } from '../../../bench/operate/load.ts';

const servers = [
  { name: 'proxy-1', url: 'http://one' },
  { name: 'proxy-2', url: 'http://two' },
];
const refused = new AskFault('connect ECONNREFUSED', null, 'ECONNREFUSED');
const stopping = new AskFault('status 503: {"error":{"message":"m","code":"draining"}}', 503);
const broken = new AskFault('other side closed', null, 'UND_ERR_SOCKET');

describe('the balancer', () => {
  it('takes servers in turn', async () => {
    const balancer = new Balancer(servers, whyPassedOn);
    const names: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      await balancer.send(async ({ name }) => await Promise.resolve(names.push(name)));
    }
    expect(names.toSorted()).toEqual(['proxy-1', 'proxy-1', 'proxy-2', 'proxy-2']);
    expect(balancer.exchanges).toEqual([]);
  });

  it.each([
    ['refused', refused],
    ['turned-away', stopping],
  ])('asks the next server when one has %s it', async (outcome, fault) => {
    const balancer = new Balancer(servers, whyPassedOn);
    const ask = async ({ name }: { name: string }): Promise<string> => {
      if (name === 'proxy-1') throw fault;
      return await Promise.resolve(name);
    };
    const answers: string[] = [];
    for (let count = 0; count < 6; count += 1) answers.push(await balancer.send(ask));
    expect(answers).toEqual(Array.from({ length: 6 }, () => 'proxy-2'));
    // Once; then it is left out for a second.
    expect(balancer.exchanges).toMatchObject([{ server: 'proxy-1', outcome }]);
  });

  it('asks nobody else when a request broke off, and writes down where', async () => {
    const balancer = new Balancer(servers, whyPassedOn);
    let asked = 0;
    const ask = async (): Promise<never> => {
      asked += 1;
      return await Promise.reject(broken);
    };
    await expect(balancer.send(ask)).rejects.toBe(broken);
    expect(asked).toBe(1);
    expect(balancer.exchanges).toMatchObject([{ outcome: 'failed', why: 'other side closed' }]);
  });

  it('waits for a server to come back when all are away', async () => {
    const balancer = new Balancer(servers, whyPassedOn);
    let away = 3;
    const ask = async ({ name }: { name: string }): Promise<string> => {
      away -= 1;
      if (away >= 0) throw refused;
      return await Promise.resolve(name);
    };
    await balancer.send(ask);
    expect(balancer.nobodyThere).toBe(1);
  });
});

describe('a 503', () => {
  it('is passed on only from a proxy that is stopping', () => {
    expect(whyPassedOn(new AskFault('status 503: {"error":{"code":"overloaded"}}', 503))).toBeNull();
    expect(whyPassedOn(new AskFault('status 502: "code":"draining"', 502))).toBeNull();
  });
});

describe('a turn of an agent', () => {
  it('is doubled when an engine was asked for it more often than the agent asked', () => {
    const sent = new Map([
      ['a:1', 1],
      ['a:2', 2],
      ['b:1', 1],
    ]);
    const asked = new Map([
      ['a:1', 1],
      ['a:2', 2],
      ['b:1', 2],
      ['c:1', 1],
    ]);
    expect(doubledAsks(asked, sent)).toEqual(['b:1', 'c:1']);
  });
});
