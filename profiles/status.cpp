#include "heddle/profiles/status.hpp"

#include <algorithm>
#include <array>

namespace heddle {

namespace {

struct Named {
  Status status;
  std::string_view text;
};
constexpr std::array kNames{Named{Status::correct, "correct"},
                            Named{Status::unverified, "unverified"},
                            Named{Status::pruned, "pruned"},
                            Named{Status::constraint, "constraint"},
                            Named{Status::compilation, "compilation"},
                            Named{Status::launch, "launch"},
                            Named{Status::wrong_result, "wrong_result"},
                            Named{Status::overrun, "overrun"},
                            Named{Status::illegal_access, "illegal_access"},
                            Named{Status::hang, "hang"},
                            Named{Status::out_of_memory, "out_of_memory"},
                            Named{Status::crash, "crash"}};

}  // namespace

std::string_view text(Status status) { return std::ranges::find(kNames, status, &Named::status)->text; }

std::optional<Status> parse_status(std::string_view text) {
  const auto named = std::ranges::find(kNames, text, &Named::text);
  if (named == kNames.end()) return std::nullopt;
  return named->status;
}

bool takes_device_down(Status status) {
  return status == Status::illegal_access || status == Status::hang || status == Status::out_of_memory ||
         status == Status::crash;
}

}  // namespace heddle
