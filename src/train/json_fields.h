// Reads and writes structs as JSON from one list of fields.
//
//   template <typename Fields> void fields(Fields& f, Point& p) { f.number("x", p.x); f.integer("n", p.n, 1, 10); }
//   FieldWriter w(json);  fields(w, p);        FieldReader r(json, "model.json", "point");  fields(r, p);
//
// Does: keeps the two directions from drifting apart; names file and field in every message. Does not: open files, know any
// of the structs.
//
// Invariant: what a reader accepts is of the right kind, finite and within the given range.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tabgrad {

using Json = nlohmann::ordered_json;

inline constexpr std::int64_t kMaxCount = 1'000'000'000;

class FieldWriter {
 public:
  explicit FieldWriter(Json& json) : json_(json) { json_ = Json::object(); }

  void integer(const char* key, std::int64_t& value, std::int64_t, std::int64_t) { json_[key] = value; }
  void seed(const char* key, std::uint64_t& value) { json_[key] = value; }
  void number(const char* key, double& value, double = 0, double = 0) { json_[key] = value; }
  void figure(const char* key, double& value) { json_[key] = value; }  // the library writes NaN as null
  void flag(const char* key, bool& value) { json_[key] = value; }
  void text(const char* key, std::string& value) { json_[key] = value; }
  void numbers(const char* key, std::vector<double>& value) { json_[key] = value; }
  void texts(const char* key, std::vector<std::string>& value) { json_[key] = value; }
  template <typename Enum, typename Name, typename From>
  void word(const char* key, Enum& value, Name name, From) {
    json_[key] = name(value);
  }
  template <typename Body>
  void group(const char* key, Body body) {
    FieldWriter inner(json_[key]);
    body(inner);
  }
  // body(writer, item) for each item.
  template <typename Item, typename Body>
  void list(const char* key, std::vector<Item>& items, Body body) {
    json_[key] = Json::array();
    for (Item& item : items) {
      FieldWriter inner(json_[key].emplace_back());
      body(inner, item);
    }
  }

 private:
  Json& json_;
};

class FieldReader {
 public:
  // file and path are for messages. path: "" at the top.
  FieldReader(const Json& json, std::string file, std::string path)
      : json_(json), file_(std::move(file)), path_(std::move(path)) {
    if (!json_.is_object()) wrong("", "an object");
  }

  void integer(const char* key, std::int64_t& value, std::int64_t low, std::int64_t high) {
    const Json& j = at(key);
    if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<std::uint64_t>() > std::uint64_t{1} << 62)) {
      wrong(key, "a whole number");
    }
    value = j.get<std::int64_t>();
    if (value < low || value > high) wrong(key, str("from ", low, " to ", high));
  }
  void seed(const char* key, std::uint64_t& value) {
    if (!at(key).is_number_unsigned()) wrong(key, "a whole number of 0 or more");
    value = at(key).get<std::uint64_t>();
  }
  void number(const char* key, double& value, double low = std::numeric_limits<double>::lowest(),
              double high = std::numeric_limits<double>::max()) {
    if (!at(key).is_number()) wrong(key, "a number");
    value = at(key).get<double>();
    if (!(value >= low && value <= high)) wrong(key, str("from ", low, " to ", high));
  }
  // null is NaN: a figure that could not be computed.
  void figure(const char* key, double& value) {
    if (at(key).is_null()) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      number(key, value);
    }
  }
  void flag(const char* key, bool& value) {
    if (!at(key).is_boolean()) wrong(key, "true or false");
    value = at(key).get<bool>();
  }
  void text(const char* key, std::string& value) {
    if (!at(key).is_string()) wrong(key, "a text");
    value = at(key).get<std::string>();
  }
  void numbers(const char* key, std::vector<double>& value) {
    if (!at(key).is_array()) wrong(key, "a list of numbers");
    value.clear();
    for (const Json& j : at(key)) {
      if (!j.is_number() || !std::isfinite(j.get<double>())) wrong(key, "a list of finite numbers");
      value.push_back(j.get<double>());
    }
  }
  void texts(const char* key, std::vector<std::string>& value) {
    if (!at(key).is_array()) wrong(key, "a list of texts");
    value.clear();
    for (const Json& j : at(key)) {
      if (!j.is_string()) wrong(key, "a list of texts");
      value.push_back(j.get<std::string>());
    }
  }
  template <typename Enum, typename Name, typename From>
  void word(const char* key, Enum& value, Name, From from) {
    std::string word;
    text(key, word);
    try {
      value = from(word);
    } catch (const Error& e) {
      wrong(key, e.what());
    }
  }
  template <typename Body>
  void group(const char* key, Body body) {
    FieldReader inner(at(key), file_, name(key));
    body(inner);
  }
  template <typename Item, typename Body>
  void list(const char* key, std::vector<Item>& items, Body body) {
    if (!at(key).is_array()) wrong(key, "a list");
    items.clear();
    for (const Json& j : at(key)) {
      FieldReader inner(j, file_, name(key));
      body(inner, items.emplace_back());
    }
  }

 private:
  const Json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(file_, ": field '", name(key), "' is missing. The file is damaged or of another version.");
    return *found;
  }
  std::string name(const char* key) const { return path_.empty() || !*key ? path_ + key : path_ + "." + key; }
  [[noreturn]] void wrong(const char* key, const std::string& expected) const {
    fail(file_, ": field '", name(key), "' is not as expected: ", expected, ". The file is damaged or was changed by hand.");
  }

  const Json& json_;
  std::string file_, path_;
};

// Throws Error naming the file unless the text is JSON.
inline Json parse_json(const std::string& text, const std::string& file) {
  constexpr int kMaxDepth = 16;
  try {
    return Json::parse(text, [](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxDepth) fail("it is nested too deeply");
      return true;
    });
  } catch (const std::exception& e) {  // of the library, or the one above
    std::string reason = e.what();
    for (char& c : reason) {  // it quotes the file, which may hold anything
      if (c < ' ' || c > '~') c = '?';
    }
    fail(file, " is not a readable JSON file: ", reason, ". It is damaged or was changed by hand.");
  }
}

}  // namespace tabgrad
