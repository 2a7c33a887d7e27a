/** The two databases of a Temporal server, made with Temporal's own SQL tool. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Postgres } from './postgres.ts';

const runFile = promisify(execFile);
const limitMs = 120_000;

export interface Databases {
  readonly name: string;
  readonly visibilityName: string;
}

export function databasesOf(name: string): Databases {
  return { name, visibilityName: `${name}_visibility` };
}

/** @throws Error with the tool's own words. */
export async function createDatabases(
  sqlTool: string,
  postgres: Pick<Postgres, 'host' | 'port' | 'user' | 'password'>,
  { name, visibilityName }: Databases,
): Promise<void> {
  await createDatabase(sqlTool, postgres, name, 'postgresql/v12/temporal');
  await createDatabase(sqlTool, postgres, visibilityName, 'postgresql/v12/visibility');
}

async function createDatabase(
  sqlTool: string,
  { host, port, user, password }: Pick<Postgres, 'host' | 'port' | 'user' | 'password'>,
  database: string,
  schema: string,
): Promise<void> {
  const environment = {
    SQL_HOST: host,
    SQL_PORT: String(port),
    SQL_USER: user,
    SQL_PASSWORD: password,
    SQL_PLUGIN: 'postgres12',
    SQL_DATABASE: database,
  };
  const steps = [
    ['create-database'],
    ['setup-schema', '-v', '0.0'],
    ['update-schema', '--schema-name', schema],
  ];
  for (const step of steps) {
    try {
      await runFile(sqlTool, step, { env: environment, timeout: limitMs, maxBuffer: 16 * 1_048_576 });
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      const words = `${stdout}${stderr}`.trim().split('\n').at(-1) ?? String(error);
      throw new Error(`Temporal's SQL tool failed at ${step[0]} of ${database}: ${words}`, { cause: error });
    }
  }
}
