/** A line without axes: the shape of some values between their lowest and their highest. */

interface SparklineProps {
  readonly values: readonly (number | null)[];
  /** Index of one of the eight series colours. */
  readonly color: number;
  readonly label: string;
  /** The values are counts: the axis begins at zero and reaches at least to one. */
  readonly isFromZero?: boolean;
}

const [width, height] = [300, 36];

export function Sparkline({ values, color, label, isFromZero = false }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const least = isFromZero ? [0, 1] : [];
  const [low, high] = [Math.min(...least, ...known), Math.max(...least, ...known)];
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
