// A process of our own that may die, hang or eat all memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// How a process ended.
struct ProcessEnd {
  bool signalled = false;
  int number = 0;  ///< of the signal, else the exit code
};

/// Whose session a new process belongs to. Whoever ends a session ends all processes in it.
enum class Session { own, of_parent };

/// A process that its destructor ends, by a kill if needed. If the session is the process's own, everything that the
/// process started ends with it.
class ChildProcess {
 public:
  /// Starts words[0], a path, with a stream socket as its descriptor 3, nothing on its standard input and output, and
  /// its standard error kept. Throws Error(device).
  explicit ChildProcess(const std::vector<std::string>& words, Session session = Session::own);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  static constexpr int kDescriptor = 3;
  /// Our end of the socket; the caller closes it.
  [[nodiscard]] int take_socket();
  [[nodiscard]] pid_t id() const noexcept { return id_; }
  /// Bytes in memory that it has to itself, 0 if it has ended: what it maps of files, and of memory that others share
  /// with it, is there without it.
  [[nodiscard]] std::int64_t resident_bytes() const;
  /// Waits for the process to end, then kills it. Kills everything else in its session, if that is its own.
  ProcessEnd end(double seconds_to_wait);
  /// The last line it wrote to its standard error.
  [[nodiscard]] std::string last_words() const;

 private:
  Session session_;
  pid_t id_ = -1;
  int socket_ = -1;
  int complaints_ = -1;
};

/// Memory that is left for a process on this machine, and in the control group that it is in.
[[nodiscard]] std::int64_t available_memory();

}  // namespace heddle
