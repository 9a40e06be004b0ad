// An optimizer's and a schedule's settings as words, limits and JSON, for every kind of run.
#pragma once

#include <string>

#include "base/option_check.h"
#include "graph/compose/compose.h"
#include "train/schedule.h"

namespace tabgrad {

// "sgd", "adam", "adamw", "lion", "muon". Throws Error on another word.
OptimizerConfig::Kind optimizer_kind_from(const std::string& word);
const char* optimizer_kind_name(OptimizerConfig::Kind kind);

// Of a trainer's config: schedule, learning rate, warm-up, time limit. Throws Error naming the option and what is allowed.
void check_rates(const auto& config) {
  need_option(config.learning_rate > 0 && config.learning_rate <= 1e6, "lr", config.learning_rate, "give a rate above 0");
  need_option(config.warmup >= 0 && config.warmup <= 1, "warmup", config.warmup, "give the part of all steps, from 0 to 1");
  need_option(config.max_seconds >= 0, "max-minutes", config.max_seconds / 60, "give minutes above 0");
}

// Fields: a reader or writer of train/json_fields.h.
template <typename Fields>
void fields(Fields& f, OptimizerConfig& o) {
  f.word("kind", o.kind, optimizer_kind_name, optimizer_kind_from);
  f.number("beta1", o.beta1, 0, 1);
  f.number("beta2", o.beta2, 0, 1);
  f.number("eps", o.eps, 0, 1);
  f.number("weight_decay", o.weight_decay, 0, 1e6);
  f.number("momentum", o.momentum, 0, 1);
  f.flag("nesterov", o.nesterov);
}

// The same of a trainer's config, whose rates, seed and optimizer these are.
template <typename Fields, typename Config>
void rate_fields(Fields& f, Config& c) {
  f.word("schedule", c.schedule, schedule_kind_name, schedule_kind_from);
  f.number("learning_rate", c.learning_rate, 0, 1e6);
  f.number("warmup", c.warmup, 0, 1);
  f.seed("seed", c.seed);
  f.group("optimizer", [&](auto& g) { fields(g, c.optimizer); });
}

}  // namespace tabgrad
