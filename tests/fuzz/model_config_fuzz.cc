// Any bytes as model.json: a description in range, or an Error; and what was read, written and read again, is the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "train/forecast_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string hash, again;
  try {
    const tabgrad::ForecastModel model = tabgrad::model_from_json(text, "model.json", &hash);
    const std::string written = to_json(model, hash);
    if (to_json(tabgrad::model_from_json(written, "model.json", &again), again) != written) std::abort();
  } catch (const tabgrad::Error&) {
  }
  return 0;
}
