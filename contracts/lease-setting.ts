/** Where schedulers settle which of them is active. Pure: nothing is looked at. */

export type LeaseSetting =
  /** A folder on a disk that all of them see; made when it is not there. */
  | { readonly kind: 'file'; readonly path: string }
  /** A Lease object (`coordination.k8s.io/v1`). @property namespace null: that of the pod. */
  | { readonly kind: 'kubernetes'; readonly namespace: string | null; readonly name: string };

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const kubernetesPattern = new RegExp(`^kubernetes:(?:(${label})/)?(${label}(?:\\.${label})*)$`);
/** What the API takes as a name. */
const longestName = 253;

/** `file:/path`, `kubernetes:name` or `kubernetes:namespace/name`; null: none of these. */
export function parseLeaseSetting(value: string): LeaseSetting | null {
  if (value.startsWith('file:')) {
    const path = value.slice('file:'.length);
    return path === '' || path.includes('\0') ? null : Object.freeze({ kind: 'file', path });
  }
  const [, namespace = null, name] = kubernetesPattern.exec(value) ?? [];
  if (name === undefined || name.length > longestName) return null;
  return Object.freeze({ kind: 'kubernetes', namespace, name });
}
