// How a tensor lies in a texture, for targets whose buffers are textures.
//
// Four consecutive elements to a texel (RGBA32F); texel i at column i % width, row i / width. The width is a power of two, so that
// both are bit operations, and depends on the number of elements alone, so that a text for arguments of known sizes serves
// wherever they lie. The last texel's unused elements hold anything.
#pragma once

#include <cstdint>

namespace tabgrad {

struct TextureShape {
  std::int64_t width = 1, height = 1;
  bool operator==(const TextureShape&) const = default;
};

constexpr std::int64_t texel_count(std::int64_t elements) { return (elements + 3) / 4; }

// As near to a square as a power of two allows: height ≤ width.
constexpr TextureShape texture_shape(std::int64_t elements) {
  const std::int64_t texels = texel_count(elements);
  std::int64_t width = 1;
  while (width * width < texels) width *= 2;
  return {width, (texels + width - 1) / width};
}

}  // namespace tabgrad
