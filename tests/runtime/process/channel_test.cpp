#include "heddle/runtime/process/channel.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

using namespace heddle;
using nlohmann::json;

namespace {

struct Pair {
  std::array<int, 2> ends{};
  Pair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0); }
};

ChannelError::Reason reason_of(Channel& channel, double seconds = 5.0) {
  try {
    (void)channel.receive({.seconds = seconds, .watch = {}});
  } catch (const ChannelError& error) {
    return error.reason();
  }
  FAIL("received a message");
  return {};
}

/// The bytes of one message.
std::string bytes_of(const json& message) {
  const Pair pair;
  Channel(pair.ends[0]).send(message);
  std::string bytes;
  char block[4096];
  for (ssize_t got = 0; (got = ::read(pair.ends[1], block, sizeof block)) > 0;) {
    bytes.append(block, static_cast<std::size_t>(got));
  }
  ::close(pair.ends[1]);
  return bytes;
}

const json kMessage{{"ask", "time"}, {"number", 7}, {"list", {1.5, 2.5}}};

}  // namespace

TEST_CASE("messages arrive as they were sent, in order, also large ones") {
  const Pair pair;
  Channel a(pair.ends[0]);
  Channel b(pair.ends[1]);
  a.send(kMessage);
  a.send("second");
  CHECK(b.receive({}) == kMessage);
  CHECK(b.receive({}) == json("second"));
  const json large = std::string(100'000, 'x');
  a.send(large);
  CHECK(b.receive({}) == large);
}

TEST_CASE("a process that dies at any byte of a message closed the connection") {
  const std::string bytes = bytes_of(kMessage);
  for (std::size_t sent = 0; sent < bytes.size(); ++sent) {
    CAPTURE(sent);
    const Pair pair;
    Channel channel(pair.ends[0]);
    REQUIRE(::write(pair.ends[1], bytes.data(), sent) == static_cast<ssize_t>(sent));
    ::close(pair.ends[1]);
    CHECK(reason_of(channel) == ChannelError::Reason::closed);
  }
}

TEST_CASE("no changed byte passes for a message") {
  const std::string bytes = bytes_of(kMessage);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    CAPTURE(at);
    const Pair pair;
    Channel channel(pair.ends[0]);
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    REQUIRE(::write(pair.ends[1], changed.data(), changed.size()) == static_cast<ssize_t>(changed.size()));
    ::close(pair.ends[1]);
    const auto reason = reason_of(channel);  // a longer message than came is one that was cut off
    CHECK((reason == ChannelError::Reason::garbled || reason == ChannelError::Reason::closed));
  }
}

TEST_CASE("waiting ends in time, or when the watch says so") {
  const Pair pair;
  Channel a(pair.ends[0]);
  Channel b(pair.ends[1]);
  CHECK(reason_of(b, 0.01) == ChannelError::Reason::late);
  int asked = 0;
  try {
    (void)b.receive({.seconds = {}, .watch = [&] { return ++asked == 3; }});
    FAIL("received a message");
  } catch (const ChannelError& error) {
    CHECK(error.reason() == ChannelError::Reason::stopped);
  }
  CHECK(asked == 3);
}

TEST_CASE("sending to a process that takes nothing ends in time, and a message can be too long") {
  const Pair pair;
  Channel a(pair.ends[0]);
  const Channel silent(pair.ends[1]);
  const auto fails = [&](std::size_t bytes, ChannelError::Reason reason) {
    try {
      a.send(std::string(bytes, 'x'), {.seconds = 0.01, .watch = {}});
      FAIL("sent");
    } catch (const ChannelError& error) {
      CHECK(error.reason() == reason);
    }
  };
  fails(std::size_t{65} << 20U, ChannelError::Reason::garbled);
  fails(std::size_t{8} << 20U, ChannelError::Reason::late);
}

TEST_CASE("sending to a process that is gone is an error, not a signal") {
  const Pair pair;
  Channel channel(pair.ends[0]);
  ::close(pair.ends[1]);
  CHECK_THROWS_AS(channel.send(kMessage), ChannelError);
}
