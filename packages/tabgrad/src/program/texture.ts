// How a buffer lies in a texture: the twin of src/kernel/texture.h. Four consecutive elements to a texel; texel i at column
// i % width, row floor(i / width).

export function texelCount(elements: number): number {
  return Math.ceil(elements / 4);
}

/** As near to a square as a power of two allows. */
export function textureShape(elements: number): { width: number; height: number } {
  const texels = texelCount(elements);
  let width = 1;
  while (width * width < texels) width *= 2;
  return { width, height: Math.ceil(texels / width) };
}
