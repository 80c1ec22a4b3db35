// The kinds of networks that a model can have. A new kind is a line here, and one in the list of trainers.
#pragma once

#include <variant>

#include "heddle/runtime/model/mlp_model.hpp"
#include "heddle/runtime/model/network_kind.hpp"
#include "heddle/runtime/model/sonfin_model.hpp"
#include "heddle/runtime/model/tsk_model.hpp"

namespace heddle {

template <NetworkKind... Kinds>
using NetworkOf = std::variant<Kinds...>;

using AnyNetwork = NetworkOf<SonfinModel, TskModel, MlpModel>;

}  // namespace heddle
