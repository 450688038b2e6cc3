/** A line without axes, between its own lowest and highest value. */

interface SparklineProps {
  readonly values: readonly (number | null)[];
  /** Of the eight series colours. */
  readonly color: number;
  readonly label: string;
}

const [width, height] = [300, 36];

export function Sparkline({ values, color, label }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const [low, high] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
  const step = width / (known.length - 1);
  const points = known.map((value, i) => {
    const y = high === low ? height / 2 : height - 1 - ((value - low) / (high - low)) * (height - 2);
    return `${(i * step).toFixed(1)},${y.toFixed(1)}`;
  });
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
