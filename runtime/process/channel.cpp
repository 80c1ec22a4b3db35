#include "heddle/runtime/process/channel.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/template_source.hpp"

namespace heddle {

namespace {

using Reason = ChannelError::Reason;

constexpr std::uint32_t kMark = 0x68776b00U + Channel::kVersion;  // "hwk"
constexpr std::size_t kChecksum = 32;
constexpr std::uint32_t kLongest = std::uint32_t{64} << 20;
constexpr double kTick = 0.02;  // seconds between two questions to a watch

struct Header {
  std::uint32_t mark = kMark;
  std::uint32_t bytes = 0;
  std::array<char, kChecksum> checksum{};
};

double end_of(const Channel::Patience& patience) {
  return patience.seconds ? seconds_now() + *patience.seconds : std::numeric_limits<double>::infinity();
}

ChannelError closed() { return {Reason::closed, "the connection was closed"}; }

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Channel::Channel(int descriptor) : descriptor_(descriptor) {}

Channel::~Channel() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Channel::Channel(Channel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), inside_message_(other.inside_message_) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(inside_message_, other.inside_message_);
  return *this;
}

void Channel::wait(short event, double until, const Patience& patience) const {
  while (true) {
    const double left = std::max(0.0, until - seconds_now());
    const double pause = patience.watch ? std::min(left, kTick) : left;
    pollfd waiting{.fd = descriptor_, .events = event, .revents = 0};
    const int found = ::poll(&waiting, 1, std::isinf(pause) ? -1 : static_cast<int>(std::min(pause * 1e3 + 1.0, 1e6)));
    if (found > 0) return;  // also after a hang-up: what was sent before it can still be read
    if (found < 0 && errno != EINTR) throw closed();
    if (left <= 0.0) throw ChannelError(Reason::late, "no answer in time");
    if (patience.watch && patience.watch()) throw ChannelError(Reason::stopped, "stopped waiting");
  }
}

void Channel::send(const nlohmann::json& message, const Patience& patience) {
  const double until = end_of(patience);
  const std::vector<std::uint8_t> body = nlohmann::json::to_cbor(message);
  if (body.size() > kLongest) {
    throw ChannelError(Reason::garbled, fmt::format("a message has {} bytes, at most {}", body.size(), kLongest));
  }
  Header header;
  header.bytes = static_cast<std::uint32_t>(body.size());
  const std::string checksum = digest({reinterpret_cast<const char*>(body.data()), body.size()});
  std::copy_n(checksum.begin(), kChecksum, header.checksum.begin());
  std::string bytes(sizeof header + body.size(), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::copy(body.begin(), body.end(), bytes.begin() + sizeof header);
  for (std::string_view rest = bytes; !rest.empty();) {
    wait(POLLOUT, until, patience);
    const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) throw closed();
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

nlohmann::json Channel::receive(const Patience& patience) {
  const double until = end_of(patience);
  const auto read = [&](char* to, std::size_t bytes) {
    while (bytes > 0) {
      wait(POLLIN, until, patience);
      const ssize_t got = ::recv(descriptor_, to, bytes, MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) throw closed();
      inside_message_ = true;
      to += got;
      bytes -= static_cast<std::size_t>(got);
    }
  };
  inside_message_ = false;
  Header header;
  read(reinterpret_cast<char*>(&header), sizeof header);
  if (header.mark != kMark || header.bytes > kLongest)
    throw ChannelError(Reason::garbled, "no message of this version");
  std::string body(header.bytes, '\0');
  read(body.data(), body.size());
  inside_message_ = false;
  if (digest(body) != std::string_view(header.checksum.data(), kChecksum)) {
    throw ChannelError(Reason::garbled, "a message was damaged");
  }
  try {
    return parse_cbor(body);
  } catch (const BadDocument& error) {
    throw ChannelError(Reason::garbled, fmt::format("a message cannot be read: {}", error.what()));
  }
}

}  // namespace heddle
