/** A small line without axes: the shape of the last minutes. */

interface SparkProps {
  readonly values: readonly number[];
  readonly color: number;
  readonly label: string;
}

const [width, height] = [300, 48];

export function Spark({ values, color, label }: SparkProps) {
  const top = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, i) => `${(i * step).toFixed(1)},${(height - 1 - (value / top) * (height - 2)).toFixed(1)}`,
  );
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <polyline
        class={`line-${color}`}
        points={points.join(" ")}
        fill="none"
        stroke-width="1.5"
        vector-effect="non-scaling-stroke"
      />
    </svg>
  );
}
