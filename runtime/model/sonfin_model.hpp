// What a model has of a self-constructing neural fuzzy network.
#pragma once

#include <optional>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/runtime/model/network_kind.hpp"

namespace heddle {

/// The functions: see NetworkKind.
struct SonfinModel {
  static constexpr std::string_view kName = "sonfin";

  sonfin::Network network;
  sonfin::Hyperparameters hyperparameters;  ///< that it was taught with
  double log_threshold = 0.0;               ///< log mu_th of the epoch to come
  std::optional<sonfin::Network> last;      ///< training goes on from here if `network` is an earlier, better one

  /// Without rules.
  [[nodiscard]] static SonfinModel untaught(std::int64_t dim, std::int64_t outputs);

  [[nodiscard]] std::int64_t dim() const { return network.dim; }
  [[nodiscard]] std::int64_t outputs() const { return network.outputs; }
  [[nodiscard]] NetworkSize size() const;
  [[nodiscard]] std::string unready() const;
  [[nodiscard]] double largest_input() const;
  void check(const std::string& source) const;
  void encode(nlohmann::json& into) const;
  [[nodiscard]] static SonfinModel decode(const CborMap& from);
  [[nodiscard]] Description describe(const Model& model) const;
  [[nodiscard]] nlohmann::ordered_json document(const Model& model) const;

  /// The most bytes that its numbers take in a file once it has up to `rules` rules.
  [[nodiscard]] std::int64_t largest_bytes(std::int64_t rules) const;
};

}  // namespace heddle
