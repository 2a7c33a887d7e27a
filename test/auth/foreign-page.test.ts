import { describe, expect, it } from 'vitest';
import { isForeignPage } from '../../auth/foreign-page.ts';

const here = '127.0.0.1';

describe('a request where no token is asked for', () => {
  it.each([
    ['a program', { host: '127.0.0.1:8080' }, here],
    ['a program, by name', { host: 'LocalHost:8080' }, '::1'],
    ['a program, by address', { host: '[::1]:8080' }, '::ffff:127.0.0.1'],
    ['a program from elsewhere, by another name', { host: 'gpu-box:8080' }, '10.0.0.7'],
    ['a page of this machine', { host: 'localhost:8080', origin: 'http://localhost:3000' }, here],
    ['an editor', { host: 'localhost:8080', origin: 'vscode-webview://1b2c' }, here],
    ['a request without a host', {}, here],
  ])('of %s is let in', (_, headers, localAddress) => {
    expect(isForeignPage(headers, localAddress)).toBe(false);
  });

  it.each([
    ['a foreign page', { host: 'localhost:8080', origin: 'https://evil.example' }, here],
    ['a foreign page, from elsewhere', { host: 'gpu-box:8080', origin: 'http://evil.example' }, '10.0.0.7'],
    ['a page that hides its origin', { host: 'localhost:8080', origin: 'null' }, here],
    ['a page under a name that leads here', { host: 'evil.example:8080' }, here],
    ['such a page that posts', { host: 'evil.example', origin: 'http://evil.example' }, '::1'],
    ['a name that only begins like this machine', { host: 'localhost.evil.example' }, here],
    ['an origin that only begins so', { host: 'localhost', origin: 'http://localhost:1@evil.example' }, here],
    ['a port that is none', { host: '127.0.0.1:80x' }, '::ffff:127.0.0.1'],
  ])('of %s is refused', (_, headers, localAddress) => {
    expect(isForeignPage(headers, localAddress)).toBe(true);
  });
});
