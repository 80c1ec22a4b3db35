// All that choices stand on: what a profile store knows, as a value.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "heddle/profiles/fitted_model.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle {

struct Knowledge {
  std::vector<Profile> profiles;
  std::vector<FittedModel> models;

  Knowledge() = default;
  /// Not explicit: profiles alone are knowledge, too.
  Knowledge(std::vector<Profile> of_profiles, std::vector<FittedModel> of_models = {})
      : profiles(std::move(of_profiles)), models(std::move(of_models)) {}
  Knowledge(std::initializer_list<Profile> of_profiles) : profiles(of_profiles) {}
};

}  // namespace heddle
