// A library that is opened at run time, so that the program starts where it is missing.
#pragma once

#include <string>

namespace heddle {

/// Moves, does not copy. The library stays in the process: vendors' libraries do not survive being closed.
class SharedLibrary {
 public:
  SharedLibrary() = default;
  /// Tries to open `name`, a path or what the dynamic linker looks for.
  explicit SharedLibrary(const std::string& name);

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// The address of a function; null if there is none.
  [[nodiscard]] void* symbol(const char* name) const;
  /// Sets `function`; false if there is none of that name.
  template <class Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace heddle
