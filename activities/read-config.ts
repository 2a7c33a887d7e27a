/** Reads the tool servers of the configuration file. The rest of the file is for other services. */
import { existsSync, readFileSync } from 'node:fs';
import { parse, YAMLParseError } from 'yaml';
import { configFileSchema, describeFaults, type ToolServers } from '../contracts/config-file.ts';
import { SettingsFault } from '../contracts/settings.ts';

const defaultConfigPath = 'fermata.yaml';

/**
 * @param path null: `fermata.yaml` if there is one, else no tool servers.
 * @throws SettingsFault with what is wrong and where.
 */
export function readToolServers(path: string | null): ToolServers {
  const file = path ?? defaultConfigPath;
  if (path === null && !existsSync(file)) return {};
  const parsed = configFileSchema.safeParse(parseYaml(file));
  if (parsed.success) return parsed.data.tools.mcpServers;
  throw new SettingsFault(`${file}: ${describeFaults(parsed.error).join('; ')}`);
}

function parseYaml(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8')) as unknown;
  } catch (error) {
    const why =
      error instanceof YAMLParseError ? (error.message.split('\n')[0] ?? '') : (error as Error).message;
    throw new SettingsFault(`${file}: cannot be read: ${why}`, { cause: error });
  }
}
