#include "cost/cost_json.h"

namespace tabgrad {

using Json = nlohmann::ordered_json;

Json work_json(const StepWork& work) {
  Json launches = Json::array();
  for (const LaunchWork& w : work) launches.push_back({w.count, w.flops, w.bytes});
  return launches;
}

Json cost_json(const CostModel& m) {
  return {{"overhead_us", 1e6 * m.overhead},
          {"gflops", 1e-9 * m.rate},
          {"gbytes_per_s", 1e-9 * m.bandwidth},
          {"half_mflop", 1e-6 * m.half_work}};
}

Json cost_json(const CostFit& fit) {
  Json json = cost_json(fit.model);
  json["rows"] = Json::array();
  for (const CostFit::Row& r : fit.rows)
    json["rows"].push_back({{"preset", r.name},
                            {"ms", 1e3 * r.seconds},
                            {"predicted_ms", 1e3 * r.predicted},
                            {"left_out_ms", r.left_out > 0 ? Json(1e3 * r.left_out) : Json(nullptr)}});
  return json;
}

}  // namespace tabgrad
