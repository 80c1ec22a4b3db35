#include "heddle/tuner/tuning_progress.hpp"

namespace heddle {

std::string_view text(Stage stage) {
  switch (stage) {
    case Stage::screening:
      return "screening";
    case Stage::finals:
      return "finals";
    case Stage::verification:
      return "verification";
  }
  return "";
}

}  // namespace heddle
