/** Light or dark: as the system has it, or as chosen here. */
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const storedAt = "tidemark.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme {
  const found = localStorage.getItem(storedAt);
  return found === "light" || found === "dark" ? found : "system";
}

export const theme = signal<Theme>(stored());
/** The theme in effect; charts, which are drawn, follow it. */
export const isDark = signal(false);

function apply(): void {
  isDark.value = theme.value === "dark" || (theme.value === "system" && dark.matches);
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
}

export function setTheme(chosen: Theme): void {
  if (chosen === "system") localStorage.removeItem(storedAt);
  else localStorage.setItem(storedAt, chosen);
  theme.value = chosen;
  apply();
}

dark.addEventListener("change", apply);
apply();
