// Language models' files: folders, tokenizers, texts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lm/lm_job.h"
#include "train/checkpoint.h"

namespace tabgrad::cli {

// Throws Error naming the folder and what is missing or damaged.
LmModel read_lm_folder(const std::string& folder);
void write_lm_folder(const std::string& folder, const LmModel& model);

std::string lm_checkpoint_path(const std::string& folder);
// nullopt when the folder has no checkpoint.
std::optional<LmCheckpoint> read_lm_checkpoint(const std::string& folder);

Tokenizer read_tokenizer(const std::string& path);
// vocabulary: a number as the user wrote it. progress as of BpeTrainer::train.
Tokenizer train_tokenizer(const std::string& vocabulary, const std::vector<std::string>& texts,
                          const std::function<void(std::int64_t, std::int64_t)>& progress);

// The texts in tokens, as training data. cache: a file that holds the tokens of an earlier time, if it is of the same texts and
// tokenizer, and gets them otherwise; "" is none. note: takes a line for people.
Corpus read_corpus(const Tokenizer& tokenizer, const std::vector<std::string>& texts, double validation,
                   const std::string& cache, const std::function<void(const std::string&)>& note);

// The text without control characters but newlines and tabs: what a model writes must not steer a terminal.
std::string printable(const std::string& text);

}  // namespace tabgrad::cli
