/** What a key that is no data point was perhaps meant to be. */

/** The number of letters that may be wrong; in short names fewer. */
const editsMax = 2;
const shortLength = 3;

/** The name that differs by case alone, else the nearest within a few edits; null: none. */
export function nearestName(key: string, names: Iterable<string>): string | null {
  const lower = key.toLowerCase();
  const most = key.length <= shortLength ? 1 : editsMax;
  let nearest: string | null = null;
  let least = most + 1;
  for (const name of names) {
    if (Math.abs(name.length - key.length) >= least) continue;
    const other = name.toLowerCase();
    if (other === lower) return name;
    const edits = distance(lower, other, least - 1);
    if (edits < least && edits < Math.max(key.length, name.length)) {
      least = edits;
      nearest = name;
    }
  }
  return nearest;
}

/** Edits by inserting, leaving out, replacing and swapping neighbours; more than `most` are not counted on. */
function distance(a: string, b: string, most: number): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let k = 1; k <= b.length; k++) {
      const isSame = a[i - 1] === b[k - 1];
      let edits = Math.min((last[k] as number) + 1, (row[k - 1] as number) + 1);
      edits = Math.min(edits, (last[k - 1] as number) + (isSame ? 0 : 1));
      const isSwapped = i > 1 && k > 1 && a[i - 1] === b[k - 2] && a[i - 2] === b[k - 1];
      if (isSwapped) edits = Math.min(edits, (before[k - 2] as number) + 1);
      row.push(edits);
      least = Math.min(least, edits);
    }
    if (least > most) return most + 1;
    before = last;
    last = row;
  }
  return last[b.length] as number;
}
