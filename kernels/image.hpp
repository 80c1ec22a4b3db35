// Contents of buffers on the host, by name.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle {

using HostImage = std::map<std::string, std::vector<std::byte>, std::less<>>;

/// Contents that lie elsewhere.
using ViewedImage = std::map<std::string, std::span<const std::byte>, std::less<>>;

/// Names of some buffers.
using BufferNames = std::vector<std::string>;

/// Contents that nobody changes and several may own, so that those that are kept for further runs need not be copied.
class SharedImage {
 public:
  // Both conversions are meant: whoever makes contents need not know whether somebody keeps them.
  SharedImage(HostImage made);
  SharedImage(std::shared_ptr<const HostImage> kept);
  /// Contents that lie in memory which `owner` keeps, for example in a mapped file.
  SharedImage(ViewedImage views, std::shared_ptr<const void> owner);

  [[nodiscard]] const ViewedImage& views() const noexcept;
  /// As vectors. Contents that lie elsewhere are copied when somebody asks first, so large ones are better viewed.
  const HostImage& operator*() const;
  const HostImage* operator->() const { return &**this; }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace heddle
