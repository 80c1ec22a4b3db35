#include "heddle/profiles/rows.hpp"

#include <SQLiteCpp/Column.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/checks.hpp"
#include "heddle/profiles/model_record.hpp"

namespace heddle {

namespace {

std::vector<double> parse_json_array(std::string_view text) {
  const auto fail = [&] {
    refuse("times", fmt::format("'{}'", text.substr(0, 60)), "numbers in brackets, separated by commas");
  };
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2) fail();
  std::vector<double> numbers;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  while (at < end) {
    const auto [after, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc() || (after != end && (*after != ',' || after + 1 == end))) fail();
    at = std::min(after + 1, end);
  }
  return numbers;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

std::string json_array(const std::vector<double>& numbers) {
  std::string text = "[";
  for (const double number : numbers) text += fmt::format("{}{}", text.size() > 1 ? "," : "", number);
  return text + "]";
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

/// How a problem differs from those of its family, if the family is known.
std::optional<std::string> mismatch(const FamilyRegistry& families, const std::string& family,
                                    const std::string& problem) {
  const KernelFamily* const known = families.find(family);
  if (known == nullptr) return std::nullopt;
  try {
    (void)Problem::parse(problem, known->axes());
    return std::nullopt;
  } catch (const Error& error) {
    return fmt::format("{} {}", family, error.what());
  }
}

/// Throws Error(input) for a text that is no problem of any family.
std::optional<ProfileKey> key_of(SQLite::Statement& row, const FamilyRegistry& families) {
  const std::string problem = row.getColumn("problem").getString();
  ProfileKey key{.device = DeviceIdentity::parse(row.getColumn("identity").getString()),
                 .family = row.getColumn("family").getString(),
                 .problem = parse_any_problem(problem)};
  if (mismatch(families, key.family, problem)) return std::nullopt;
  return key;
}

KernelVersion version_of(SQLite::Statement& row) {
  return {.source_hash = row.getColumn("source_hash").getString(),
          .contract_digest = row.getColumn("contract_digest").getString()};
}

Provenance provenance_of(SQLite::Statement& row) {
  return {.driver = row.getColumn("driver").getString(),
          .compiler = row.getColumn("compiler").getString(),
          .tool = row.getColumn("tool").getString(),
          .host = row.getColumn("host").getString(),
          .clocks = row.getColumn("clocks").getString(),
          .date = row.getColumn("date").getString(),
          .seed = row.getColumn("seed").getInt64(),
          .strategy = row.getColumn("strategy").getString()};
}

/// Says which record an Error(input) is about.
template <class Check>
void check_record(const char* what, const ProfileKey& key, const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{} of {} {}: {}", what, key.family, key.problem.text(), error.what()));
  }
}

/// SQLite takes NaN for NULL.
double storable_error(double error) { return std::isnan(error) ? std::numeric_limits<double>::infinity() : error; }

/// A row that is written has to be accepted when it is read.
template <class Record>
void promise(Record record) {
  if constexpr (requires { record.worst_error; }) record.worst_error = storable_error(record.worst_error);
  try {
    check_numbers(record);
  } catch (const Error& error) {
    throw Error(ErrorKind::bug, fmt::format("a record for the profile database: {}", error.what()));
  }
}

std::int64_t device(SQLite::Database& database, const DeviceIdentity& identity) {
  SQLite::Statement row(database,
                        "INSERT INTO devices (identity, backend, name, architecture) VALUES (?, ?, ?, ?) "
                        "ON CONFLICT (identity) DO UPDATE SET name = excluded.name RETURNING id");
  bind_all(row, identity.text(), identity.backend, identity.name, identity.architecture);
  row.executeStep();
  return row.getColumn(0).getInt64();
}

std::int64_t provenance(SQLite::Database& database, const Provenance& p) {
  SQLite::Statement row(database,
                        "INSERT INTO provenances (driver, compiler, tool, host, clocks, seed, strategy) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET seed = excluded.seed RETURNING id");
  bind_all(row, p.driver, p.compiler, p.tool, p.host, p.clocks, p.seed, p.strategy);
  row.executeStep();
  return row.getColumn(0).getInt64();
}

}  // namespace

void insert(SQLite::Database& database, const Measurement& m) {
  promise(m);
  SQLite::Statement row(
      database,
      "INSERT INTO measurements (device, family, problem, source_hash, configuration, status, "
      "times, samples, cold_cache, compile_seconds, worst_error, message, provenance, date, run, "
      "visit, contract_digest, cost, registers, shared_bytes, local_bytes, occupancy, energy) VALUES (?, ?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  bind_all(row, device(database, m.key.device), m.key.family, m.key.problem.text(), m.kernels.source_hash,
           m.configuration, std::string(text(m.status)), json_array(m.times), m.samples, m.cold_cache ? 1 : 0,
           m.compile_seconds, storable_error(m.worst_error), m.message, provenance(database, m.provenance),
           m.provenance.date, m.run, m.visit, m.kernels.contract_digest);
  constexpr int kCost = 18;  // behind what every measurement has
  if (m.cost) row.bind(kCost, *m.cost);
  if (m.resources) {
    row.bind(kCost + 1, m.resources->registers);
    row.bind(kCost + 2, m.resources->shared_bytes);
    row.bind(kCost + 3, m.resources->local_bytes);
    row.bind(kCost + 4, m.resources->occupancy);
  }
  if (m.energy) row.bind(kCost + 5, *m.energy);
  row.exec();
}

void replace(SQLite::Database& database, const Profile& p) {
  promise(p);
  SQLite::Statement row(database,
                        "INSERT OR REPLACE INTO profiles (device, family, problem, source_hash, configuration, time, "
                        "spread, worst_error, samples, ties, imported, provenance, date, run, record, contract_digest, "
                        "objective, cold_cache, value) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  bind_all(row, device(database, p.key.device), p.key.family, p.key.problem.text(), p.kernels.source_hash,
           p.configuration, p.time, p.spread, p.worst_error, p.samples, joined_lines(p.ties), p.imported ? 1 : 0,
           provenance(database, p.provenance), p.provenance.date, p.run, p.record, p.kernels.contract_digest,
           p.key.goal.objective, p.key.goal.cold_cache ? 1 : 0);
  constexpr int kValue = 19;  // the last one
  if (p.value) row.bind(kValue, *p.value);
  row.exec();
}

void replace(SQLite::Database& database, const FittedModel& m) {
  promise(m);
  SQLite::Statement row(database, fmt::format("INSERT OR REPLACE INTO models ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
                                              "?, ?, ?)",
                                              kModelColumns));
  bind_all(row, device(database, m.device), m.family, m.kernels.source_hash, m.kernels.contract_digest,
           weights_text(m.weights), m.left_out_error, m.measurements, m.problems, m.remark, m.imported ? 1 : 0,
           provenance(database, m.provenance), m.provenance.date);
  row.exec();
}

// The selections of measurements and profiles end in these.
constexpr const char* kCommonColumns =
    "d.identity, r.family, r.problem, r.source_hash, r.contract_digest, r.configuration, r.worst_error, r.samples, "
    "p.driver, p.compiler, p.tool, p.host, p.clocks, r.date, p.seed, p.strategy";
constexpr const char* kJoins = "JOIN devices d ON d.id = r.device JOIN provenances p ON p.id = r.provenance";

template <>
std::string select_from<Measurement>(const char* table) {
  return fmt::format(
      "SELECT r.status, r.times, r.compile_seconds, r.message, r.cost, r.run, r.visit, r.registers, r.shared_bytes, "
      "r.local_bytes, r.occupancy, r.energy, r.cold_cache, {} FROM {} r {}",
      kCommonColumns, table, kJoins);
}

template <>
std::string select_from<Profile>(const char* table) {
  return fmt::format(
      "SELECT r.time, r.spread, r.ties, r.imported, r.run, r.record, r.objective, r.cold_cache, r.value, {} "
      "FROM {} r {}",
      kCommonColumns, table, kJoins);
}

template <>
std::string select_from<FittedModel>(const char* table) {
  return fmt::format(
      "SELECT d.identity, r.family, r.source_hash, r.contract_digest, r.weights, r.left_out_error, r.measurements, "
      "r.problems, r.remark, r.imported, p.driver, p.compiler, p.tool, p.host, p.clocks, r.date, p.seed, p.strategy "
      "FROM {} r {}",
      table, kJoins);
}

template <>
std::optional<Measurement> read<Measurement>(SQLite::Statement& row, const FamilyRegistry& families) {
  const auto key = key_of(row, families);
  if (!key) return std::nullopt;
  const std::string status = row.getColumn("status").getString();
  const auto parsed = parse_status(status);
  if (!parsed) throw Error(ErrorKind::input, fmt::format("a measurement with status '{}'", status.substr(0, 60)));
  Measurement measurement{.key = *key,
                          .kernels = version_of(row),
                          .configuration = row.getColumn("configuration").getString(),
                          .status = *parsed,
                          .times = {},
                          .samples = row.getColumn("samples").getInt64(),
                          .compile_seconds = row.getColumn("compile_seconds").getDouble(),
                          .worst_error = row.getColumn("worst_error").getDouble(),
                          .message = row.getColumn("message").getString(),
                          .cost = {},
                          .run = row.getColumn("run").getInt64(),
                          .visit = row.getColumn("visit").getInt64(),
                          .provenance = provenance_of(row)};
  const SQLite::Column cost = row.getColumn("cost");
  if (!cost.isNull()) measurement.cost = cost.getDouble();
  if (const SQLite::Column registers = row.getColumn("registers"); !registers.isNull()) {
    measurement.resources = KernelResources{.registers = registers.getInt64(),
                                            .shared_bytes = row.getColumn("shared_bytes").getInt64(),
                                            .local_bytes = row.getColumn("local_bytes").getInt64(),
                                            .occupancy = row.getColumn("occupancy").getDouble()};
  }
  measurement.cold_cache = row.getColumn("cold_cache").getInt() != 0;
  if (const SQLite::Column energy = row.getColumn("energy"); !energy.isNull()) measurement.energy = energy.getDouble();
  check_record("a measurement", *key, [&] {
    measurement.times = parse_json_array(row.getColumn("times").getString());
    check_numbers(measurement);
  });
  return measurement;
}

template <>
std::optional<Profile> read<Profile>(SQLite::Statement& row, const FamilyRegistry& families) {
  const auto key = key_of(row, families);
  if (!key) return std::nullopt;
  Profile profile{.key = *key,
                  .kernels = version_of(row),
                  .configuration = row.getColumn("configuration").getString(),
                  .time = row.getColumn("time").getDouble(),
                  .spread = row.getColumn("spread").getDouble(),
                  .worst_error = row.getColumn("worst_error").getDouble(),
                  .samples = row.getColumn("samples").getInt64(),
                  .ties = split_lines(row.getColumn("ties").getString()),
                  .imported = row.getColumn("imported").getInt() != 0,
                  .run = row.getColumn("run").getInt64(),
                  .provenance = provenance_of(row)};
  if (const SQLite::Column value = row.getColumn("value"); !value.isNull()) profile.value = value.getDouble();
  if (families.find(key->family) == nullptr) profile.record = row.getColumn("record").getString();
  check_record("the profile", *key, [&] {
    set_goal(profile, row.getColumn("objective").getString(), row.getColumn("cold_cache").getInt() != 0);
    check_numbers(profile);
  });
  return profile;
}

template <>
std::optional<FittedModel> read<FittedModel>(SQLite::Statement& row, const FamilyRegistry&) {
  FittedModel model{.device = DeviceIdentity::parse(row.getColumn("identity").getString()),
                    .family = row.getColumn("family").getString(),
                    .kernels = version_of(row),
                    .weights = {},
                    .left_out_error = row.getColumn("left_out_error").getDouble(),
                    .measurements = row.getColumn("measurements").getInt64(),
                    .problems = row.getColumn("problems").getInt64(),
                    .remark = row.getColumn("remark").getString(),
                    .imported = row.getColumn("imported").getInt() != 0,
                    .provenance = provenance_of(row)};
  try {
    model.weights = parse_weights(row.getColumn("weights").getString());
    check_numbers(model);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("the model of {} on {}: {}", model.family, model.device.name, error.what()));
  }
  return model;
}

std::optional<std::string> why_left_out(const FamilyRegistry& families, const std::string& family,
                                        const std::string& problem) {
  try {
    (void)parse_any_problem(problem);
  } catch (const Error&) {
    return std::nullopt;
  }
  return mismatch(families, family, problem);
}

}  // namespace heddle
