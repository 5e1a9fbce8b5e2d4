/** Samples in the text form of Prometheus, added up by name and by one of their labels. */

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function samples(text: string): Sample[] {
  const found: Sample[] = [];
  for (const line of text.split("\n")) {
    const parts = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!parts || line.startsWith("#")) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (parts[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name ?? ""] = value ?? "";
    found.push({ name: parts[1] ?? "", labels, value: Number(parts[3]) });
  }
  return found;
}

export function totals(all: readonly Sample[], name: string, label: string): [string, number][] {
  const sums = new Map<string, number>();
  for (const each of all)
    if (each.name === name) sums.set(each.labels[label] ?? "", (sums.get(each.labels[label] ?? "") ?? 0) + each.value);
  return [...sums].filter(([, value]) => value > 0).sort((left, right) => right[1] - left[1]);
}
