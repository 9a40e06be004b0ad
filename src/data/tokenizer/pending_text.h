// Text that comes in pieces, for readers that can only take whole words of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tabgrad {

// take(text, last) uses a prefix of the text, all of it if it ends here (last), and returns how many bytes that was.
class PendingText {
 public:
  template <typename Take>
  void feed(std::string_view text, Take take) {
    if (pending_.empty()) {
      pending_ = text.substr(take(text, false));
    } else {
      pending_ += text;
      if (pending_.size() < enough_) return;
      pending_.erase(0, take(std::string_view(pending_), false));
    }
    enough_ = 2 * pending_.size();
  }
  template <typename Take>
  void finish(Take take) {
    take(std::string_view(pending_), true);
    pending_.clear();
    enough_ = 0;
  }

 private:
  std::string pending_;
  std::size_t enough_ = 0;  // bytes that are worth another look, so that a long word is not scanned again for each piece
};

}  // namespace tabgrad
