/** A setup file: vitest runs it anew before each test file, whether these share modules or not. */
import { afterEach } from 'vitest';
import { closeOpened } from './closing.ts';

afterEach(closeOpened);
