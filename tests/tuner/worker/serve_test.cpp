// The worker process asked by hand: whatever comes, it answers or ends with one line and an exit code that says why.
#include "heddle/tuner/worker/serve.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/process/channel.hpp"
#include "heddle/runtime/process/child_process.hpp"
#include "placed.hpp"

using namespace heddle;
using nlohmann::json;

namespace {

constexpr const char* kFamily = "sonfin-train";
constexpr const char* kProblem = "rules=5 dim=3 outputs=2";

/// A worker that can be asked, with what it says at the end.
class Asked {
 public:
  Asked() : process_({test::worker_program()}), socket_(process_.take_socket()) {}

  json ask(const json& question) {
    Channel(::dup(socket_)).send(question);
    return Channel(::dup(socket_)).receive({.seconds = 60.0, .watch = {}});
  }
  void send(const std::string& bytes) const {
    REQUIRE(::write(socket_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  /// Exit code after the connection is closed; 128 + N for signal N.
  int end() {
    ::close(socket_);
    const ProcessEnd end = process_.end(60.0);
    return end.signalled ? 128 + end.number : end.number;
  }
  [[nodiscard]] std::string last_words() const { return process_.last_words(); }

 private:
  ChildProcess process_;
  int socket_;
};

/// A message of any body, with a header that is right.
std::string framed(const std::string& body, std::uint32_t version = Channel::kVersion) {
  const std::array<std::uint32_t, 2> numbers{0x68776b00U + version, static_cast<std::uint32_t>(body.size())};
  std::string bytes(sizeof numbers, '\0');
  std::memcpy(bytes.data(), numbers.data(), sizeof numbers);
  return bytes + digest(body) + body;
}

/// How the worker ends after these bytes.
int code_after(const std::string& bytes) {
  Asked worker;
  worker.send(bytes);
  const int code = worker.end();
  if (code != 0) CHECK(worker.last_words().starts_with("worker: "));
  return code;
}

const std::vector<std::string> kAsks{"open", "compile", "next",   "wind_up", "drop",   "prepare",
                                     "time", "guards",  "verify", "check",   "forget", "provenance"};

}  // namespace

TEST_CASE("whatever is asked before a device is open is answered with an error") {
  Asked worker;
  for (const std::string& ask : kAsks) {
    if (ask == "open") continue;
    CAPTURE(ask);
    const json answer = worker.ask({{"ask", ask}, {"number", 1}, {"family", kFamily}, {"seed", 1}});
    CHECK(answer.at("error") == static_cast<int>(ErrorKind::input));
  }
  CHECK(worker.ask({{"ask", "open"}, {"device", "cpu"}}).contains("identity"));
  CHECK(worker.ask({{"ask", "open"}, {"device", "cpu"}}).contains("error"));
  CHECK(worker.end() == 0);
}

TEST_CASE("families that are described with the first message are made, or the device stays closed") {
  Asked worker;
  const auto open = [&](const json& families) {
    return worker.ask({{"ask", "open"}, {"device", "cpu"}, {"families", families}});
  };
  const auto described = [](const json& maker, const json& text) { return json{{"maker", maker}, {"text", text}}; };
  for (const json& families :
       {json(7), json("carpet"), json::array({7}), json::array({json::object()}), json::array({described(1, 2)}),
        json::array({described("weaver", "carpet")}), json::array({described("faulty", "")}),
        json::array({described("faulty", "a b")}), json::array({described("faulty", "sonfin-train")}),
        json::array({described("faulty", "twice"), described("faulty", "twice")}),
        json::array({described("faulty", std::string(1000, 'x'))})}) {
    CAPTURE(families.dump());
    CHECK(open(families).contains("error"));
  }
  REQUIRE(open(json::array({described("faulty", "one"), described("faulty", "two")})).contains("identity"));
  for (const char* family : {"one", "two", kFamily}) {
    CHECK(worker.ask({{"ask", "provenance"}, {"family", family}, {"seed", 1}}).contains("tool"));
  }
  CHECK(worker.ask({{"ask", "provenance"}, {"family", "twice"}, {"seed", 1}}).contains("error"));
  CHECK(worker.end() == 0);
}

TEST_CASE("questions that make no sense are answered with an error") {
  Asked worker;
  REQUIRE(worker.ask({{"ask", "open"}, {"device", "cpu"}}).contains("identity"));
  const auto refused = [&](const json& question) {
    CAPTURE(question.dump());
    CHECK(worker.ask(question).contains("error"));
  };
  for (const json& question : {json(), json(7), json("ask"), json::array(), json::object(), json{{"ask", 3}},
                               json{{"ask", "weave"}}, json{{"ask", nullptr}}, json{{"ask", "open"}, {"device", 3}}}) {
    refused(question);
  }
  for (const char* ask : {"next", "wind_up", "time", "guards"}) {
    refused({{"ask", ask}});
    refused({{"ask", ask}, {"number", 99}, {"seconds", 0.0}});
    refused({{"ask", ask}, {"number", "one"}, {"seconds", "two"}});
  }
  const json prepare{{"ask", "prepare"},
                     {"family", kFamily},
                     {"seed", 1},
                     {"number", 1},
                     {"samples", 64},
                     {"problem", kProblem},
                     {"configuration", "coarsening=rules coarsen_count=1 block_size=4 threads=1 prune=0"}};
  REQUIRE(!worker.ask(prepare).contains("error"));
  const auto with = [&](const char* name, const json& value) {
    json changed = prepare;
    changed[name] = value;
    refused(changed);
  };
  for (const json& samples : {json(0), json(-1), json((1 << 20) + 1), json("64"), json(), json(1e300)})
    with("samples", samples);
  for (const char* problem : {"", "rules=5", "rules=0 dim=3 outputs=2", "rules=99999999999999999999 dim=3 outputs=2",
                              "rules=2000000 dim=3 outputs=2"}) {
    with("problem", problem);
  }
  with("configuration", "");
  with("configuration", "coarsening=rules coarsen_count=64 block_size=4 threads=1 prune=0");
  with("configuration", "coarsening=rules coarsen_count=1 block_size=4 threads=1000000 prune=0");
  with("family", "weaving");
  with("number", json::array());
  for (const char* name : {"family", "seed", "number", "samples", "problem", "configuration"}) {
    json less = prepare;
    less.erase(name);
    refused(less);
  }
  CHECK(worker.ask({{"ask", "time"}, {"number", 1}}).at("time") > 0.0);  // it is as well as before
  CHECK(worker.end() == 0);
}

TEST_CASE("what is no message ends the worker with bad input, and one line") {
  constexpr int kInput = static_cast<int>(ErrorKind::input);
  CHECK(code_after("") == 0);
  CHECK(code_after("weave me a carpet, forty bytes or more than that") == kInput);
  CHECK(code_after("short") == kInput);
  const std::vector<std::uint8_t> good = json::to_cbor({{"ask", "open"}, {"device", "cpu"}});
  const std::string body(good.begin(), good.end());
  CHECK(code_after(framed(body)) == 0);
  CHECK(code_after(framed(body, Channel::kVersion + 1)) == kInput);
  CHECK(code_after(framed(body).substr(0, 60)) == kInput);
  std::string damaged = framed(body);
  damaged.back() ^= 1;
  CHECK(code_after(damaged) == kInput);
  for (const char* opening : {"\x81", "\x9f", "\xbf", "\xa1\x61", "\x7f", "\x5f", "\xc1"}) {
    std::string deep;
    for (int i = 0; i < 1'000'000; ++i) deep += opening;
    CHECK(code_after(framed(deep)) == kInput);
  }
  CHECK(code_after(framed("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff")) == kInput);
  CHECK(code_after(framed("")) == kInput);
}

TEST_CASE("a worker without a socket says what it is for") {
  std::FILE* const file = std::tmpfile();
  for (const int descriptor : {-1, ::fileno(file)}) {
    try {
      serve(descriptor);
      FAIL("served");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(std::string(error.what()).find("is no socket") != std::string::npos);
    }
  }
  std::fclose(file);
}

TEST_CASE("mutated conversations leave a worker that answers, or one that says why it ended") {
  const std::vector<json> conversation{
      {{"ask", "open"}, {"device", "cpu"}},
      {{"ask", "provenance"}, {"family", kFamily}, {"seed", 1}},
      {{"ask", "prepare"},
       {"family", kFamily},
       {"seed", 1},
       {"number", 1},
       {"samples", 16},
       {"problem", kProblem},
       {"configuration", "coarsening=rules coarsen_count=1 block_size=4 threads=1 prune=0"}},
      {{"ask", "time"}, {"number", 1}},
      {{"ask", "guards"}, {"number", 1}},
      {{"forget", 1}}};
  std::mt19937_64 random(std::random_device{}());
  for (int times = 0; times < 100; ++times) {
    std::string bytes;
    for (const json& question : conversation) {
      const std::vector<std::uint8_t> body = json::to_cbor(question);
      std::string text(body.begin(), body.end());
      if (random() % 4 == 0) text[random() % text.size()] = static_cast<char>(random());
      bytes += framed(text);
    }
    const int code = code_after(bytes);
    CAPTURE(bytes);
    CHECK((code == 0 || code == static_cast<int>(ErrorKind::input)));
  }
}
