/** What a Dockerfile says, as far as ours goes: instructions in order, comments and continued lines resolved. Pure. */

export interface Instruction {
  /** In capitals, such as `RUN`. */
  readonly name: string;
  readonly value: string;
}

export interface Stage {
  /** null: it has no name. */
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

/** @returns the stages in order; what stands before the first FROM is left out. */
export function readStages(text: string): readonly Stage[] {
  const stages: { name: string | null; instructions: Instruction[] }[] = [];
  for (const instruction of readInstructions(text)) {
    if (instruction.name === 'FROM') {
      stages.push({ name: /\sAS\s+(\S+)$/i.exec(instruction.value)?.[1] ?? null, instructions: [] });
    } else {
      stages.at(-1)?.instructions.push(instruction);
    }
  }
  return stages;
}

export function readInstructions(text: string): readonly Instruction[] {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  return lines.map((line) => {
    const [, name = '', value = ''] = /^\s*(\w+)\s+(.*?)\s*$/.exec(line) ?? [];
    return { name: name.toUpperCase(), value };
  });
}

/** Values of all instructions of that name. */
export function valuesOf(stage: Stage, name: string): readonly string[] {
  return stage.instructions.filter((one) => one.name === name).map(({ value }) => value);
}

/** What `ENV` sets. */
export function environmentOf(stage: Stage): Readonly<Record<string, string>> {
  const pairs = valuesOf(stage, 'ENV').flatMap((value) => [...value.matchAll(/([A-Z_]+)=("[^"]*"|\S+)/g)]);
  return Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value.replaceAll('"', '')]));
}

/** The words of the last instruction of that name in its exec form. @throws Error when it has another form. */
export function execForm(stage: Stage, name: string): readonly string[] {
  const value = valuesOf(stage, name).at(-1) ?? '';
  const words: unknown = value.startsWith('[') ? JSON.parse(value) : null;
  if (!Array.isArray(words) || words.some((word) => typeof word !== 'string')) {
    throw new Error(`${name} is not in its exec form: ${value}`);
  }
  return words as readonly string[];
}
