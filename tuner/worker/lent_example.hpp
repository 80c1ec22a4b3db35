// Contents of buffers that a program hands to its worker.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "heddle/kernels/own/example.hpp"

namespace heddle {

/// A copy of the contents in memory that both processes map, or, where memory is short, in a file without a name. The
/// worker finds it where save_example() would have put it. It is gone with this, or with this process, its worker and
/// what it forked, however they end.
class LentExample {
 public:
  /// `folder`: KernelExamples::folder of the family whose `buffers` these are. Throws Error(input) if a buffer is
  /// missing or has another size, and Error(device) if there is no room.
  LentExample(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers,
              const ViewedImage& contents);
  ~LentExample();
  LentExample(const LentExample&) = delete;
  LentExample& operator=(const LentExample&) = delete;

 private:
  std::filesystem::path path_;  ///< a link to the copy
  int descriptor_ = -1;
};

}  // namespace heddle
