// A token as it is, with its spaces and line ends made visible.

export function visible(piece: string): string {
  return JSON.stringify(piece).slice(1, -1).replaceAll('\\"', '"').replaceAll('\\\\', '\\').replaceAll(' ', '␣');
}

export function Piece({ text }: { text: string }) {
  return <code>{visible(text)}</code>;
}
