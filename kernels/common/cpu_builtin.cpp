#include "heddle/kernels/common/cpu_builtin.hpp"

#include "heddle/kernels/common/cpu_builtin_table.hpp"

namespace heddle::cpu {

namespace {

struct Tables {
  const BuiltinKernel *fused, *exact;
};

Tables tables([[maybe_unused]] std::string_view architecture) {
#ifdef HEDDLE_CPU_LEVELS
  if (architecture == "x86-64-v4") return {builtin_v4, exact_v4};
  if (architecture == "x86-64-v3") return {builtin_v3, exact_v3};
#endif
  return {builtin_baseline, exact_baseline};
}

Kernel find(const BuiltinKernel* entry, std::string_view expression) {
  for (; entry->expression != nullptr; ++entry) {
    if (entry->expression == expression) return entry->kernel;
  }
  return nullptr;
}

}  // namespace

Kernel builtin_kernel(std::string_view expression, std::string_view architecture) {
  const Tables all = tables(architecture);
  const Kernel fused = find(all.fused, expression);
  return fused != nullptr ? fused : find(all.exact, expression);
}

bool is_exact_kernel(std::string_view expression, std::string_view architecture) {
  return find(tables(architecture).exact, expression) != nullptr;
}

std::string_view best_architecture() {
#ifdef HEDDLE_CPU_LEVELS
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64-v2";
#elif defined(__x86_64__)
  return "x86-64-v2";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "generic";
#endif
}

std::vector<std::string_view> built_architectures() {
  const std::string_view best = best_architecture();
  if (best == "x86-64-v4") return {"x86-64-v2", "x86-64-v3", best};
  if (best == "x86-64-v3") return {"x86-64-v2", best};
  return {best};
}

}  // namespace heddle::cpu
