/** Which of the eight series colours a line has: that of its data point or metric, the same wherever it is drawn. */

const colors = 8;

/**
 * The colours of one chart, to be taken line by line: where another line has the colour already, the next one.
 * @param taken colours that lines of the chart have in any case
 */
export function createColors(taken: readonly number[] = []): (id: number) => number {
  const uses = new Array<number>(colors).fill(0);
  for (const color of taken) uses[color % colors] = (uses[color % colors] ?? 0) + 1;
  return (id) => {
    const least = Math.min(...uses);
    let color = id % colors;
    while (uses[color] !== least) color = (color + 1) % colors;
    uses[color] = least + 1;
    return color;
  };
}
