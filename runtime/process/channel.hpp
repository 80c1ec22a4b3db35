// Messages between two processes that do not trust each other's health.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace heddle {

/// On a clock that never goes back.
[[nodiscard]] double seconds_now();

/// The other side can no longer be talked to.
class ChannelError : public std::runtime_error {
 public:
  enum class Reason {
    closed,   ///< the other process has ended, or closed its end, perhaps in the middle of a message
    garbled,  ///< something came that is no message: another version, a wrong length or checksum
    late,     ///< nothing complete came in time
    stopped,  ///< the caller's watch said so
  };
  ChannelError(Reason reason, const std::string& what) : std::runtime_error(what), reason_(reason) {}
  [[nodiscard]] Reason reason() const noexcept { return reason_; }

 private:
  Reason reason_;
};

/// One end of a stream socket. A message is a header (a mark with the protocol's version, the length, a checksum) and
/// CBOR. After a ChannelError the channel is of no use. From one thread at a time.
class Channel {
 public:
  /// Raised whenever a message changes its meaning.
  static constexpr std::uint32_t kVersion = 2;

  /// How long to wait for a message: `seconds`, or for ever. `watch`, if any, is asked every few milliseconds while
  /// waiting; true ends it.
  struct Patience {
    std::optional<double> seconds;
    std::function<bool()> watch;
  };

  /// Closes `descriptor` at the end.
  explicit Channel(int descriptor);
  ~Channel();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;

  /// Both throw ChannelError. A message that the other side does not take in time is late, too; one of more than 64 MiB
  /// is garbled, and nothing of it is sent.
  void send(const nlohmann::json& message, const Patience& patience);
  void send(const nlohmann::json& message) { send(message, Patience()); }
  [[nodiscard]] nlohmann::json receive(const Patience& patience);
  /// Whether receive() ended when a part of a message had come.
  [[nodiscard]] bool inside_message() const noexcept { return inside_message_; }

 private:
  void wait(short event, double until, const Patience& patience) const;

  int descriptor_ = -1;
  bool inside_message_ = false;
};

}  // namespace heddle
