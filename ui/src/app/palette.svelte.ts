let open = $state(false);

export const palette = {
  get open(): boolean {
    return open;
  },
};

export function openPalette(): void {
  open = true;
}

export function closePalette(): void {
  open = false;
}
