#include "heddle/kernels/image.hpp"

#include <mutex>
#include <utility>

namespace heddle {

struct SharedImage::State {
  ViewedImage views;
  std::shared_ptr<const void> owner;
  std::once_flag copied;
  std::shared_ptr<const HostImage> image;
};

SharedImage::SharedImage(HostImage made) : SharedImage(std::make_shared<const HostImage>(std::move(made))) {}

SharedImage::SharedImage(std::shared_ptr<const HostImage> kept) : state_(std::make_shared<State>()) {
  state_->views = ViewedImage(kept->begin(), kept->end());
  state_->image = std::move(kept);
}

SharedImage::SharedImage(ViewedImage views, std::shared_ptr<const void> owner) : state_(std::make_shared<State>()) {
  state_->views = std::move(views);
  state_->owner = std::move(owner);
}

const ViewedImage& SharedImage::views() const noexcept { return state_->views; }

const HostImage& SharedImage::operator*() const {
  std::call_once(state_->copied, [this] {
    if (state_->image) return;
    HostImage image;
    for (const auto& [name, bytes] : state_->views) image.emplace(name, std::vector(bytes.begin(), bytes.end()));
    state_->image = std::make_shared<const HostImage>(std::move(image));
  });
  return *state_->image;
}

}  // namespace heddle
