#include "heddle/kernels/own/source_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/named_files.hpp"
#include "heddle/kernels/own/regular_file.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestSource = std::size_t{1} << 22U;  // bytes, of each file
constexpr std::size_t kMostIncluded = 64;

/// Words by which a compiler of C++ reads or writes a file of the user's choice, or hands words on to another program.
constexpr std::array<std::string_view, 34> kFileWords{
    "-I",           "-i",     "--i",      "-pre-include", "--pre-include",
    "-pch",         "--pch",  "-use-pch", "--use-pch",    "-create-pch",
    "--create-pch", "-time",  "--time",   "-o",           "--output",
    "-B",           "-L",     "-l",       "-T",           "-X",
    "-M",           "-specs", "--specs",  "-wrapper",     "-fplugin",
    "-fprofile",    "-fdump", "-dump",    "-save-temps",  "--save-temps",
    "--sysroot",    "-Wl,",   "-Wp,",     "-Wa,"};

}  // namespace

bool names_a_file(std::string_view word) {
  if (word == "-lineinfo") return false;
  // Behind the end of a line, the value of a macro would be a line of the source.
  const bool one_line = std::ranges::none_of(word, [](unsigned char c) { return std::iscntrl(c) != 0; });
  return !one_line || !word.starts_with('-') ||
         std::ranges::any_of(kFileWords, [&](std::string_view begin) { return word.starts_with(begin); });
}

std::string bytes_of_file(const fs::path& path, const std::string& named, std::size_t most) {
  std::ifstream file = open_regular_file(path, named);
  std::string bytes(most + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad()) throw Error(ErrorKind::input, fmt::format("{}: cannot be read", named));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.size() > most) throw Error(ErrorKind::input, fmt::format("{}: longer than {} bytes", named, most));
  return bytes;
}

bool leads_below(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  if (error) return false;
  const fs::path below = real.lexically_relative(fs::weakly_canonical(folder, error));
  return !error && !below.empty() && *below.begin() != "..";
}

SourceFolder::SourceFolder(std::vector<fs::path> folders, bool allow_outside)
    : folders_(std::move(folders)), allow_outside_(allow_outside) {
  for (fs::path& folder : folders_) {
    if (folder.empty()) folder = ".";
  }
}

fs::path SourceFolder::find(const std::string& named) const {
  std::error_code error;
  for (const fs::path& folder : folders_) {
    if (fs::exists(folder / named, error)) return folder / named;
  }
  return folders_.front() / named;
}

bool SourceFolder::is_allowed(const fs::path& path) const {
  return allow_outside_ ||
         std::ranges::any_of(folders_, [&](const fs::path& folder) { return leads_below(path, folder); });
}

void SourceFolder::require_inside(const DescriptionNode& node, const std::string& named) const {
  if (is_allowed(find(named))) return;
  node.refuse(fmt::format("{} is not in the description's folder; --allow-outside allows that", in_quotes(named)));
}

void SourceFolder::require_no_path(const DescriptionNode& node, const std::string& word) const {
  if (allow_outside_ || !names_a_file(word)) return;
  node.refuse(
      fmt::format("{} may name a file outside the description's folder; --allow-outside allows that", in_quotes(word)));
}

void SourceFolder::require_names_inside(const DescriptionNode& node, const std::string& file,
                                        const std::string& text) const {
  if (allow_outside_) return;
  if (const auto why = names_outside(file, text)) node.refuse(*why + "; --allow-outside allows that");
}

std::string SourceFolder::text(const DescriptionNode& node, const std::string& named) const {
  const fs::path wanted = find(named);
  std::error_code error;
  const fs::path real = fs::canonical(wanted, error);
  if (error) node.refuse(fmt::format("{}: {}", in_quotes(named), error.message()));
  require_inside(node, named);
  try {
    return bytes_of_file(real, printable(wanted.string()), kLongestSource);
  } catch (const Error& failure) {
    node.refuse(failure.what());
  }
}

std::vector<std::string> SourceFolder::included(const std::string& text) const {
  std::vector<std::string> names;
  collect(text, names);
  return names;
}

void SourceFolder::collect(const std::string& text, std::vector<std::string>& names) const {
  for (NamedFile& named : named_files(text)) {
    if (named.how != NamedFile::How::quotes) continue;
    std::string& name = named.name;
    std::error_code error;
    const fs::path path = find(name);
    if (!is_allowed(path) || !fs::is_regular_file(path, error) || std::ranges::find(names, name) != names.end())
      continue;
    if (names.size() == kMostIncluded) return;
    names.push_back(std::move(name));
    try {
      collect(bytes_of_file(path, names.back(), kLongestSource), names);
    } catch (const Error&) {  // whoever reads it says so
    }
  }
}

}  // namespace heddle
