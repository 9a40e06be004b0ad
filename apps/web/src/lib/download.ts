// Hands bytes to the browser's own download, without a request.

/** Long enough for slow browsers to have taken the bytes over. */
const kRevokeMs = 60_000;

export function saveAs(name: string, type: string, bytes: Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), kRevokeMs);
}
