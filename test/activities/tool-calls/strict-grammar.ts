/** A grammar builder that refuses what real ones do, each of them something else. */
type Json = Readonly<Record<string, unknown>>;

/** By the words of case A20: whether a schema, at the top or below it, is refused for that reason. */
export const refusals: Readonly<
  Record<string, (schema: Json, isTop: boolean, isProperty: boolean) => boolean>
> = {
  'pattern without ^ and $': ({ pattern }) => typeof pattern === 'string' && !/^\^[\s\S]*\$$/.test(pattern),
  'look-ahead or look-behind': ({ pattern }) => typeof pattern === 'string' && /\(\?<?[=!]/.test(pattern),
  'maxLength or maxItems above 2000': (schema) =>
    ['maxLength', 'maxItems', 'minLength', 'minItems'].some((key) => Number(schema[key] ?? 0) > 2_000),
  '$ref into an array index': ({ $ref: reference }) =>
    typeof reference === 'string' && !/^#\/\$defs\/[A-Za-z0-9_]+$/.test(reference),
  'property without type': (schema, isTop, isProperty) =>
    isProperty && !isTop && schema['type'] === undefined,
  'oneOf at the top': (schema, isTop) =>
    isTop && ['oneOf', 'anyOf', 'allOf', '$ref', 'enum', 'not'].some((key) => schema[key] !== undefined),
};

/** Why the builder refuses the schema; none: it takes it. */
export function grammarFaults(root: Json): string[] {
  const faults: string[] = [];
  const visit = (schema: unknown, path: string, isProperty: boolean): void => {
    if (!isObject(schema)) {
      if (schema !== undefined) faults.push(`${path}: no schema`);
      return;
    }
    for (const [name, refuses] of Object.entries(refusals)) {
      if (refuses(schema, path === '', isProperty)) faults.push(`${path}: ${name}`);
    }
    const reference = schema['$ref'];
    if (typeof reference === 'string') {
      const name = reference.replace('#/$defs/', '');
      if (!isObject(root['$defs']) || !isObject(root['$defs'][name]))
        faults.push(`${path}: ${reference} leads nowhere`);
    }
    for (const key of ['properties', '$defs']) {
      const group = schema[key];
      if (!isObject(group)) continue;
      for (const [name, inner] of Object.entries(group))
        visit(inner, `${path}/${name}`, key === 'properties');
    }
    for (const key of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
      const group = schema[key];
      if (!Array.isArray(group)) continue;
      group.forEach((inner, index) => visit(inner, `${path}/${key}/${index}`, false));
    }
    if (schema['items'] !== undefined) visit(schema['items'], `${path}/items`, false);
    if (isObject(schema['additionalProperties'])) visit(schema['additionalProperties'], `${path}/*`, true);
  };
  visit(root, '', false);
  return faults;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
