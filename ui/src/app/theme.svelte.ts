/** Dark, light, or as the system has it; kept in this browser. */

export type Theme = "system" | "light" | "dark";
const KEY = "lochan.theme";

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

let theme = $state<Theme>(stored());
apply();

export const currentTheme = {
  get value(): Theme {
    return theme;
  },
};

export function setTheme(next: Theme): void {
  theme = next;
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  apply();
}

function apply(): void {
  document.documentElement.dataset["theme"] = theme;
}
