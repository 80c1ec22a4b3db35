// What a model has of a Takagi-Sugeno-Kang system.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "heddle/kernels/tsk/system.hpp"
#include "heddle/runtime/model/network_kind.hpp"

namespace heddle {

/// The functions: see NetworkKind.
struct TskModel {
  static constexpr std::string_view kName = "tsk";

  tsk::System system;               ///< the best
  std::optional<tsk::System> last;  ///< training goes on from here
  /// Centres, then standard deviations of `last`, 2 x K x D, where training keeps more of them than float32; or empty.
  std::vector<double> antecedents;
  /// Members of tsk::Progress: how the length of the steps was adapted, and iterations with a ridge unasked.
  struct Adaptation {
    double step = 0.0, grown = 0.0, shrunk = 0.0, ridges = 0.0;
    std::array<double, tsk::kRecent> recent{};
    bool operator==(const Adaptation&) const = default;
  } adaptation;

  /// Without rules.
  [[nodiscard]] static TskModel untaught(std::int64_t dim, std::int64_t outputs);

  [[nodiscard]] std::int64_t dim() const { return system.dim; }
  [[nodiscard]] std::int64_t outputs() const { return system.outputs; }
  [[nodiscard]] NetworkSize size() const;
  [[nodiscard]] std::string unready() const;
  [[nodiscard]] double largest_input() const;
  void check(const std::string& source) const;
  void encode(nlohmann::json& into) const;
  [[nodiscard]] static TskModel decode(const CborMap& from);
  [[nodiscard]] Description describe(const Model& model) const;
  [[nodiscard]] nlohmann::ordered_json document(const Model& model) const;

  /// The most bytes that its numbers take in a file once it has up to `rules` rules.
  [[nodiscard]] std::int64_t largest_bytes(std::int64_t rules) const;
};

}  // namespace heddle
