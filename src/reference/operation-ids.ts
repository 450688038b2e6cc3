interface Named {
  readonly method: string;
  readonly path: string;
}

const prefix = "/api/v1";

/**
 * `getDevicesByIdEvents`: the method and the words of the path. @throws Error when two routes get the same id
 */
export function operationIDs<Spec extends Named>(specs: readonly Spec[]): Map<Spec, string> {
  const paths = new Set(specs.map(({ path }) => path));
  const ids = new Map<Spec, string>();
  const taken = new Map<string, string>();
  for (const spec of specs) {
    // A route served both with and without the prefix has a name for each.
    const twin = !spec.path.startsWith(prefix) && paths.has(prefix + spec.path);
    const id = `${spec.method}${twin ? "Root" : ""}${words(spec.path)}`;
    const other = taken.get(id);
    if (other !== undefined) throw new Error(`cannot name ${spec.path}: ${other} has the operationId ${id}`);
    taken.set(id, spec.path);
    ids.set(spec, id);
  }
  return ids;
}

function words(path: string): string {
  return path
    .replace(prefix, "")
    .replaceAll("{", "By/")
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}
