/**
 * server.json, by which an MCP registry lists the server: strict on what we write, and true of this project. The
 * registry's own schema is asked by `npm run test:chart`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { settingsTable } from '../../contracts/settings-table.ts';
import { root } from './import-closure.ts';

const input = {
  description: z.string().min(1).optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
};
const named = z.strictObject({
  name: z.string().min(1),
  value: z.string().optional(),
  variables: z.record(z.string(), z.strictObject(input)).optional(),
  ...input,
});
const exactVersion = z.string().regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/);
const serverSchema = z.strictObject({
  $schema: z
    .string()
    .regex(/^https:\/\/static\.modelcontextprotocol\.io\/schemas\/\d{4}-\d{2}-\d{2}\/server\.schema\.json$/),
  name: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: exactVersion,
  packages: z.array(
    z.strictObject({
      registryType: z.literal('oci'),
      identifier: z.string().regex(/^[a-z0-9.-]+(\/[a-z0-9._-]+)+:\d+\.\d+\.\d+/),
      runtimeHint: z.literal('docker'),
      runtimeArguments: z.array(named.extend({ type: z.literal('named') })),
      packageArguments: z.array(z.strictObject({ type: z.literal('positional'), value: z.string() })),
      environmentVariables: z.array(named),
      transport: z.strictObject({ type: z.literal('stdio') }),
    }),
  ),
  remotes: z.array(
    z.strictObject({
      type: z.literal('streamable-http'),
      url: z.string().regex(/^https:\/\/\S+\/mcp$/),
      variables: z.record(z.string(), z.strictObject(input)),
      headers: z.array(named),
    }),
  ),
});

const text = readFileSync(join(root, 'server.json'), 'utf8');
const dockerfile = readFileSync(join(root, 'docker', 'Dockerfile'), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  private?: boolean;
};

describe('server.json', () => {
  const server = serverSchema.parse(JSON.parse(text));
  const [image] = server.packages;

  it('is of the version of the package, and so is its image', () => {
    expect([server.version, image?.identifier.split(':').at(-1)]).toEqual([
      manifest.version,
      manifest.version,
    ]);
  });

  it('names no npm package while there is none of ours', () => {
    expect(manifest.private).toBe(true);
    expect(text).not.toContain('"npm"');
  });

  it('is claimed by the image, as the registry asks', () => {
    expect(/io\.modelcontextprotocol\.server\.name="([^"]+)"/.exec(dockerfile)?.[1]).toBe(server.name);
  });

  it('starts the MCP server on standard input and output, with settings that it takes', () => {
    expect(image?.packageArguments.map(({ value }) => value)).toEqual(['mcp']);
    const names = image?.environmentVariables.map(({ name }) => name) ?? [];
    expect(names.filter((name) => name.startsWith('FERMATA_') && !(name in settingsTable))).toEqual([]);
    expect(names).toContain('TEMPORAL_ADDRESS');
    for (const { name, isSecret } of image?.environmentVariables ?? []) {
      expect([name, isSecret === true]).toEqual([name, /TOKEN|KEY/.test(name)]);
    }
  });

  it('has a value for every variable of its address and headers', () => {
    for (const { url, variables, headers } of server.remotes) {
      const asked = [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(asked).toEqual(Object.keys(variables));
      for (const { value = '', variables: own = {} } of headers) {
        expect([...value.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)).toEqual(Object.keys(own));
      }
    }
  });
});
