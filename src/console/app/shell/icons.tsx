/** Line icons on a grid of 20, drawn in the colour of the text. */

const paths = {
  overview: "M3 11h5V3H3zM12 17h5V9h-5zM3 17h5v-3H3zM12 6h5V3h-5z",
  devices: "M6 6h8v8H6zM8 6V3M12 6V3M8 17v-3M12 17v-3M6 8H3M6 12H3M17 8h-3M17 12h-3",
  products: "M10 3l6 3.5v7L10 17l-6-3.5v-7zM4 6.5l6 3.5 6-3.5M10 10v7",
  explore: "M3 15l4-6 3 3 4-7 3 4M3 17h14",
  dashboards: "M3 3h14v14H3zM3 8h14M9 8v9",
  alerts: "M10 3l7 13H3zM10 8v4M10 14v.5",
  commands: "M4 5l4 5-4 5M10 15h6",
  map: "M3 5l4.5-2 5 2L17 3v12l-4.5 2-5-2L3 17zM7.500 3v12M12.500 5v12",
  messages: "M3 4h14v9H8l-4 3v-3H3z",
  access: "M6.500 9V6.500a3.500 3.500 0 0 1 7 0V9M4.500 9h11v8h-11z",
  system: "M3 10h3l2-5 4 10 2-5h3",
  you: "M10 4a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM4 17c0-3 2.500-5 6-5s6 2 6 5",
  up: "M10 16V4M5 9l5-5 5 5",
  close: "M5 5l10 10M15 5L5 15",
  search: "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4zM13 13l4 4",
  tide: "M2 8c2.500 0 2.500-2 5-2s2.500 2 5 2 2.500-2 5-2M2 13c2.500 0 2.500-2 5-2s2.500 2 5 2 2.500-2 5-2",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linejoin="round"
      stroke-linecap="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
