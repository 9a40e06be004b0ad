#include "train/checkpoint.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "data/atomic_file.h"
#include "data/safetensors.h"
#include "nn/parameters.h"
#include "train/json_fields.h"

namespace tabgrad {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCheckpointVersion = 1;
constexpr std::uint64_t kMaxJsonBytes = 64 << 20;

std::string join(const std::string& folder, const char* file) { return (fs::path(folder) / file).string(); }

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

const char* end_word(EndReason reason) {
  switch (reason) {
    case EndReason::kNone: return "running";
    case EndReason::kEpochs: return "epochs";
    case EndReason::kPatience: return "patience";
    case EndReason::kStopped: return "stopped";
    case EndReason::kTimeLimit: return "time limit";
    case EndReason::kDiverged: return "diverged";
  }
  TG_CHECK(false);
}
EndReason end_from(const std::string& word) {
  using R = EndReason;
  for (R r : {R::kNone, R::kEpochs, R::kPatience, R::kStopped, R::kTimeLimit, R::kDiverged}) {
    if (word == end_word(r)) return r;
  }
  fail("end '", word, "' is not known");
}

// JSON's shortest decimals give every double back bit for bit.
template <typename Fields>
void fields(Fields& f, TrainerState& s) {
  std::int64_t version = kCheckpointVersion;
  f.integer("tabgrad_checkpoint", version, kCheckpointVersion, kCheckpointVersion);
  f.integer("epoch", s.epoch, 0, kMaxCount);
  f.integer("step", s.step, 0, std::int64_t{1} << 60);
  f.integer("position", s.position, 0, std::int64_t{1} << 60);
  f.number("loss_sum", s.loss_sum);
  f.numbers("train_loss", s.train_loss);
  f.numbers("validation_loss", s.validation_loss);
  f.integer("best_epoch", s.best_epoch, -1, kMaxCount);
  f.number("best_loss", s.best_loss);
  f.word("end", s.end, end_word, end_from);
  f.text("message", s.message);
}

Safetensors read_tensors(const std::string& path) { return read_safetensors(read_file(path), path); }

}  // namespace

void prepare_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) {
    fail("--out ", folder, ": the folder cannot be made",
         error ? ": " + error.message() : ": a file of that name is in the way", ". Choose another place.");
  }
  // Finds a read-only or full disk before hours of training rather than after.
  const std::string probe = join(folder, ".write-test");
  write_file_atomically(probe, "tabgrad");
  fs::remove(probe, error);
}

ModelFiles write_model(const ForecastModel& model, const NamedTensors& weights) {
  return {to_json(model, hash_text(hash_values(weights))), write_safetensors(weights, {{"format", "tabgrad"}})};
}

void save_model(const std::string& folder, const ForecastModel& model, const NamedTensors& weights) {
  const ModelFiles files = write_model(model, weights);
  write_file_atomically(join(folder, kNextWeights), files.weights);
  write_file_atomically(join(folder, kModelFile), files.description);
  std::error_code error;
  fs::rename(join(folder, kNextWeights), join(folder, kWeightsFile), error);
  if (error) fail(join(folder, kWeightsFile), " cannot be replaced: ", error.message());
}

SavedModel load_model(const std::string& folder) {
  const std::string description = join(folder, kModelFile), weights = join(folder, kWeightsFile),
                    next = join(folder, kNextWeights);
  if (!exists(folder)) fail("--model ", folder, ": there is no such folder.");
  if (!exists(description)) {
    fail("--model ", folder, " holds no finished model: ", kModelFile, " is missing. ",
         exists(join(folder, kCheckpointFile))
             ? "Its training was interrupted: finish it with 'train forecast … --out DIR --resume'."
             : "Give the folder that 'train forecast --out' wrote.");
  }
  std::string hash;
  SavedModel saved;
  saved.model = model_from_json(read_file(description, kMaxJsonBytes), description, &hash);
  std::string problem = weights + " is missing";
  for (const std::string& path : {weights, next}) {
    if (!exists(path)) continue;
    try {
      NamedTensors tensors = read_tensors(path).tensors;
      bool floats = true;
      for (const auto& [name, t] : tensors) floats = floats && t.dtype == DType::kF32;
      if (floats && hash_text(hash_values(tensors)) == hash) {
        saved.weights = std::move(tensors);
        return saved;
      }
      if (path == weights) problem = weights + " holds other weights than those that " + kModelFile + " describes";
    } catch (const Error& e) {
      if (path == weights) problem = e.what();
    }
  }
  fail(problem, ". The model folder is damaged: copy it again, or train again.");
}

std::string write_checkpoint(const Checkpoint& checkpoint) {
  Json state;
  FieldWriter writer(state);
  TrainerState copy = checkpoint.state;
  fields(writer, copy);
  return write_safetensors(
      checkpoint.tensors,
      {{"trainer", state.dump()}, {"settings", to_json(checkpoint.settings)}, {"data", checkpoint.data_hash}});
}

Checkpoint read_checkpoint(std::string_view bytes, const std::string& name) {
  Safetensors file = read_safetensors(bytes, name);
  const auto part = [&](const char* key) {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end()) fail(name, ": its '", key, "' is missing");
    return found->second;
  };
  Checkpoint checkpoint;
  checkpoint.settings = settings_from_json(part("settings"), name + " (settings)");
  checkpoint.data_hash = part("data");
  const Json state = parse_json(part("trainer"), name + " (trainer)");
  FieldReader reader(state, name + " (trainer)", "");
  fields(reader, checkpoint.state);
  checkpoint.tensors = std::move(file.tensors);
  return checkpoint;
}

void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint) {
  write_file_atomically(join(folder, kCheckpointFile), write_checkpoint(checkpoint));
}

std::optional<Checkpoint> load_checkpoint(const std::string& folder) {
  const std::string path = join(folder, kCheckpointFile);
  if (!exists(path)) return std::nullopt;
  try {
    return read_checkpoint(read_file(path), path);
  } catch (const Error& e) {
    fail(e.what(), " This run cannot be resumed: delete ", path, " and train again.");
  }
}

}  // namespace tabgrad
