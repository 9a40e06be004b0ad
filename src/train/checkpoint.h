// What a model folder holds, and how it stays whole.
//
//   model.json              the model's description (train/forecast_config.h), with a hash of the weights that belong to it
//   weights.safetensors     the best weights
//   checkpoint.safetensors  a run to go on with: current and best weights, optimizer state; settings and the trainer's numbers
//                           in its metadata
//
// Does: writes and reads the three, in a folder or as bytes. Does not: train, or decide when to save.
//
// Invariants:
// - A crash, kill or full disk at any moment leaves the set that was there before or the new one. Every file is replaced
//   whole; new weights wait under a name of their own (kNextWeights) until model.json, the switch, names their hash.
// - A damaged folder gives an Error naming file and remedy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/host_tensor.h"
#include "train/forecast_config.h"
#include "train/trainer.h"

namespace tabgrad {

inline constexpr const char* kModelFile = "model.json";
inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kNextWeights = "weights.next.safetensors";
inline constexpr const char* kCheckpointFile = "checkpoint.safetensors";

// Makes the folder if need be and checks that it can be written. Throws Error naming it and the reason.
void prepare_folder(const std::string& folder);

// The contents of the first two.
struct ModelFiles {
  std::string description, weights;
};
ModelFiles write_model(const ForecastModel& model, const NamedTensors& weights);

void save_model(const std::string& folder, const ForecastModel& model, const NamedTensors& weights);
struct SavedModel {
  ForecastModel model;
  NamedTensors weights;
};
SavedModel load_model(const std::string& folder);

struct Checkpoint {
  ForecastSettings settings;
  std::string data_hash;  // of the series it was trained on
  TrainerState state;
  NamedTensors tensors;  // Trainer::save()
};
// The file's bytes, for those who keep them elsewhere than in a folder. `name` is the file's, for messages.
std::string write_checkpoint(const Checkpoint& checkpoint);
Checkpoint read_checkpoint(std::string_view bytes, const std::string& name);

void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint);
// nullopt when the folder has no checkpoint.
std::optional<Checkpoint> load_checkpoint(const std::string& folder);

}  // namespace tabgrad
