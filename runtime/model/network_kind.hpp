// What a kind of network is to the rest of heddle: files, reports, prediction and `heddle inspect` ask these functions
// and know nothing else about it. The kinds there are: network.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace heddle {

struct Model;
struct Description;
class CborMap;

/// How large a network is.
struct NetworkSize {
  std::string text;  ///< "300 rules", "784-25-15-10"
  /// What of it may change while the network learns, by name, {"rules", 300}: a column each in tables of epochs, a
  /// member each in documents, and an entry in a model's history.
  std::map<std::string, std::int64_t> counts;
};

/// A kind: its numbers, what else its training goes on from, and
/// - `kName`: in files and documents, also the name of the trainer that teaches it;
/// - `dim()`, `outputs()`: D and L;
/// - `size()`;
/// - `unready()`: why it cannot predict yet, "a network without rules, expected at least one"; empty if it can;
/// - `largest_input()`: the largest size of a scaled input for which float32 holds what is computed from it;
/// - `check(source)`: throws Error(input), the line beginning with `source`, unless its sizes agree with each other and
///   every number is finite and in range: what a model file may contain;
/// - `encode(into)`, `decode(from)`: its part of a model file, an object in which "kind" is taken. decode() trusts
///   nothing and throws Error(input);
/// - `describe(model)`, `document(model)`: what `heddle inspect` says of a model that has this network, for people, and
///   as the members of an object.
template <class T>
concept NetworkKind = std::default_initializable<T> && std::copyable<T> &&
    requires(const T& network, const Model& model, const std::string& source, nlohmann::json& into,
             const CborMap& from) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { network.dim() } -> std::same_as<std::int64_t>;
  { network.outputs() } -> std::same_as<std::int64_t>;
  { network.size() } -> std::same_as<NetworkSize>;
  { network.unready() } -> std::same_as<std::string>;
  { network.largest_input() } -> std::same_as<double>;
  network.check(source);
  network.encode(into);
  { T::decode(from) } -> std::same_as<T>;
  requires std::same_as<decltype(network.describe(model)), Description>;
  requires std::same_as<decltype(network.document(model)), nlohmann::ordered_json>;
};

}  // namespace heddle
