/** Figures of the service, as /metrics returns them to operators of the deployment. */
import { ApiFailure } from "../api.js";
import { base } from "../base.js";

interface Sample {
  readonly name: string;
  /** The value of its label; empty without one. */
  readonly label: string;
  readonly value: number;
}

export async function readMetrics(signal: AbortSignal): Promise<readonly Sample[]> {
  let response: Response;
  try {
    response = await fetch(`${base}/metrics`, { signal, credentials: "same-origin", redirect: "error" });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiFailure(0, "NO_ANSWER", "the service does not answer");
  }
  if (!response.ok) throw new ApiFailure(response.status, "METRICS", `${response.status}`);
  return parseSamples(await response.text());
}

const pattern = /^(\w+)(?:\{\w+="([^"]*)"[^}]*\})? (\S+)$/;

function parseSamples(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, label = "", value] = pattern.exec(line) ?? [];
    return name === undefined ? [] : [{ name, label, value: Number(value) }];
  });
}

export const sumSamples = (samples: readonly Sample[], name: string): number =>
  samples.filter((one) => one.name === name).reduce((sum, { value }) => sum + value, 0);

/** Those of one metric that are not 0, the largest first. */
export const labelled = (samples: readonly Sample[], name: string): readonly Sample[] =>
  samples.filter((one) => one.name === name && one.value !== 0).sort((a, b) => b.value - a.value);
