/** The parts of a data folder that can be damaged. */
export const damageParts = ["journal", "events", "sessions", "series", "metadata"] as const;
type DamagePart = (typeof damageParts)[number];

/** Something on disk that is not what was written there. */
export interface Damage {
  readonly part: DamagePart;
  /** Path of the file. */
  readonly file: string;
  /** The fault, its place in the file, and what is done about it: a clause for the log. */
  readonly what: string;
  /** Bytes that can no longer be answered; 0 where they are made again from elsewhere. */
  readonly lostBytes: number;
}

/** Where every part reports damage, so that nothing is passed over silently. */
export interface DamageLog {
  /** Reports a finding once: the same one (file and what) again changes nothing. */
  report(damage: Damage): void;
  /** Findings and lost bytes by part, for parts that have any. */
  readonly counts: ReadonlyMap<DamagePart, DamageCount>;
}

interface DamageCount {
  findings: number;
  lostBytes: number;
}

/** Findings that are reported, each once; of any beyond only that there are more. */
const findingsMax = 10_000;
const beyond = "more damage has been found than is told of";

/** `onDamage` is called for each new finding. */
export function createDamageLog(onDamage: (damage: Damage) => void): DamageLog {
  const logged = new Set<string>();
  const counts = new Map<DamagePart, DamageCount>();
  return {
    counts,
    report: (damage) => {
      const finding = `${damage.file}\n${damage.what}`;
      if (logged.has(finding) || logged.size > findingsMax) return;
      logged.add(finding);
      if (logged.size > findingsMax) {
        onDamage({ ...damage, what: beyond, lostBytes: 0 });
        return;
      }
      const count = counts.get(damage.part) ?? { findings: 0, lostBytes: 0 };
      count.findings++;
      count.lostBytes += damage.lostBytes;
      counts.set(damage.part, count);
      onDamage(damage);
    },
  };
}
