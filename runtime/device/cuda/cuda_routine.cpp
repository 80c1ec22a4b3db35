#include "heddle/runtime/device/cuda/cuda_routine.hpp"

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "heddle/runtime/device/cuda/shared_library.hpp"
#include "heddle/runtime/device/routine.hpp"

// cublas_v2.h maps some names to versions of them; members and symbols follow it.
#define HEDDLE_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate)                  \
  X(cublasDestroy)                 \
  X(cublasSetStream)               \
  X(cublasSetMathMode)             \
  X(cublasSgemm)                   \
  X(cublasIdamax)                  \
  X(cublasIdamin)                  \
  X(cublasDaxpy)                   \
  X(cublasDnrm2)                   \
  X(cublasDgeam)                   \
  X(cublasDtrsm)
#define HEDDLE_CUSOLVER_FUNCTIONS(X) \
  X(cusolverDnCreate)                \
  X(cusolverDnDestroy)               \
  X(cusolverDnSetStream)             \
  X(cusolverDnDpotrf_bufferSize)     \
  X(cusolverDnDpotrf)                \
  X(cusolverDnDpotrs)                \
  X(cusolverDnDgeqrf_bufferSize)     \
  X(cusolverDnDgeqrf)                \
  X(cusolverDnDormqr_bufferSize)     \
  X(cusolverDnDormqr)
#define HEDDLE_TEXT_OF(name) #name
#define HEDDLE_TEXT(name) HEDDLE_TEXT_OF(name)

namespace heddle {
namespace {

constexpr auto kNormalEquations = "normal_equations";
constexpr auto kLeastSquares = "least_squares";
constexpr auto kMatrixProduct = "matrix_product";

[[noreturn]] void refuse(const std::string& why) { throw DeviceFailure(Status::launch, why); }

SharedLibrary open_first(const char* meaning, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (SharedLibrary library(name); library) return library;
  }
  refuse(fmt::format("{}: {} cannot be opened; the CUDA Toolkit's libraries are needed for this configuration", meaning,
                     *names.begin()));
}

}  // namespace

/// The functions that the routines call. One for the process. Not anonymous, because Implementation refers to it.
struct Libraries {
  Libraries()
      : cublas(open_first("cuBLAS", {"libcublas.so.13", "libcublas.so.12"})),
        cusolver(open_first("cuSOLVER", {"libcusolver.so.12", "libcusolver.so.11"})) {
    const char* missing = nullptr;
#define HEDDLE_FIND(library, name) \
  if (!(library).find(HEDDLE_TEXT(name), name)) missing = HEDDLE_TEXT(name);
#define HEDDLE_FIND_CUBLAS(name) HEDDLE_FIND(cublas, name)
#define HEDDLE_FIND_CUSOLVER(name) HEDDLE_FIND(cusolver, name)
    HEDDLE_CUBLAS_FUNCTIONS(HEDDLE_FIND_CUBLAS)
    HEDDLE_CUSOLVER_FUNCTIONS(HEDDLE_FIND_CUSOLVER)
    if (missing != nullptr) refuse(fmt::format("cuBLAS and cuSOLVER lack {}", missing));
  }
  SharedLibrary cublas, cusolver;
#define HEDDLE_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  HEDDLE_CUBLAS_FUNCTIONS(HEDDLE_MEMBER)
  HEDDLE_CUSOLVER_FUNCTIONS(HEDDLE_MEMBER)
};

namespace {

const Libraries& libraries() {
  static const Libraries all;
  return all;
}

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) refuse(fmt::format("cuBLAS failed with status {}", static_cast<int>(status)));
}
void check(cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    refuse(fmt::format("cuSOLVER failed with status {}", static_cast<int>(status)));
}

template <class T>
T* pointer(void* argument) {
  CUdeviceptr address = 0;
  std::memcpy(&address, argument, sizeof address);
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}
double* doubles(void* argument) { return pointer<double>(argument); }
CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
int whole(const void* argument) {
  int value = 0;
  std::memcpy(&value, argument, sizeof value);
  return value;
}

}  // namespace

struct CudaRoutines::Implementation {
  explicit Implementation(std::shared_ptr<const CudaContext> of)
      : context(std::move(of)), one(context, sizeof(double)) {
    const CudaContext::Scope scope(*context);
    check(lib.cublasCreate(&blas));
    check(lib.cublasSetStream(blas, context->stream()));
    // In float32, without the shorter factors of TF32. The library's results repeat, as it has one stream and adds
    // nothing up by atomic operations unless it is allowed to.
    check(lib.cublasSetMathMode(blas, CUBLAS_DEFAULT_MATH));
    check(lib.cusolverDnCreate(&solver));
    check(lib.cusolverDnSetStream(solver, context->stream()));
    constexpr double kOne = 1.0;
    one.write(std::as_bytes(std::span(&kOne, 1)), 0);
  }
  ~Implementation() {
    try {
      const CudaContext::Scope scope(*context);
      if (solver != nullptr) lib.cusolverDnDestroy(solver);
      if (blas != nullptr) lib.cublasDestroy(blas);
    } catch (const DeviceFailure&) {
      // The context is lost, and the handles with it.
    }
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  /// Room for `count` doubles whose contents do not outlive the call.
  double* room(std::unique_ptr<CudaMemory>& memory, std::int64_t count) const {
    const std::int64_t bytes = std::max<std::int64_t>(count, 1) * static_cast<std::int64_t>(sizeof(double));
    if (!memory || memory->bytes() < bytes) {
      memory.reset();
      memory = std::make_unique<CudaMemory>(context, bytes);
    }
    return reinterpret_cast<double*>(memory->address());  // NOLINT(performance-no-int-to-ptr)
  }
  template <class T>
  [[nodiscard]] T value(const void* at) const {
    T result{};
    context->check(context->driver().cuMemcpyDtoHAsync(&result, address(at), sizeof result, context->stream()),
                   "cannot read a number");
    context->synchronize();
    return result;
  }
  void copy(double* to, const double* from, std::int64_t count) const {
    if (count == 0) return;
    context->check(context->driver().cuMemcpyDtoDAsync(
                       address(to), address(from), static_cast<std::size_t>(count) * sizeof(double), context->stream()),
                   "cannot copy a matrix");
  }
  /// The largest or smallest magnitude of `count` numbers `stride` apart.
  [[nodiscard]] double extreme(const double* numbers, int count, int stride, bool largest) const {
    int index = 1;  // from 1
    check(largest ? lib.cublasIdamax(blas, count, numbers, stride, &index)
                  : lib.cublasIdamin(blas, count, numbers, stride, &index));
    context->synchronize();
    return std::abs(value<double>(numbers + static_cast<std::int64_t>(std::max(index, 1) - 1) * stride));
  }
  /// Adds to `count` numbers `stride` apart.
  void add(double* numbers, int count, int stride, double what) const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    check(lib.cublasDaxpy(blas, count, &what, reinterpret_cast<const double*>(one.address()), 0, numbers, stride));
  }
  /// X[P][L] row after row, from columns `pitch` apart.
  void transpose(const double* columns, int pitch, int unknowns, int outputs, double* x) const {
    constexpr double kOne = 1.0, kZero = 0.0;
    check(lib.cublasDgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, outputs, unknowns, &kOne, columns, pitch, &kZero, x, outputs,
                          x, outputs));
  }
  void finish(Info info, double largest, double* x, std::int64_t count, const double* info_at) const {
    if (info == Info::failed) {
      // NaN, where nobody shall mistake what is there for a solution; but nothing has one: zeros.
      const unsigned char byte = largest == 0.0 ? 0 : 0xff;
      context->check(context->driver().cuMemsetD8Async(
                         address(x), byte, static_cast<std::size_t>(count) * sizeof(double), context->stream()),
                     "cannot fill memory");
      if (largest == 0.0) info = Info::own_ridge;
    }
    const int number = static_cast<int>(info);
    context->check(context->driver().cuMemcpyHtoDAsync(address(info_at), &number, sizeof number, context->stream()),
                   "cannot write a number");
    context->synchronize();
  }
  template <class Attempt>
  Info with_ridge(double asked, double largest, const Attempt& attempt) const {
    if (!std::isfinite(largest)) return Info::failed;
    if (attempt(asked * largest)) return Info::solved;
    return largest > 0.0 && attempt(std::max(asked, kOwnRidge) * largest) ? Info::own_ridge : Info::failed;
  }

  void matrix_product(const std::vector<void*>& a) const {
    const int m = whole(a[3]), n = whole(a[4]), k = whole(a[5]);
    const bool transposed_a = whole(a[6]) != 0, transposed_b = whole(a[7]) != 0;
    constexpr float kOne = 1.0F, kZero = 0.0F;
    // Row after row is the transposed matrix column after column: C^T = op(B)^T op(A)^T.
    check(lib.cublasSgemm(blas, transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N, transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N, n,
                          m, k, &kOne, pointer<const float>(a[1]), transposed_b ? k : n, pointer<const float>(a[0]),
                          transposed_a ? m : k, &kZero, pointer<float>(a[2]), n));
  }

  void normal_equations(const std::vector<void*>& a) {
    const double* gram = doubles(a[0]);
    double* x = doubles(a[1]);
    const int unknowns = whole(a[4]), outputs = whole(a[5]), pitch = whole(a[6]);
    const double asked = static_cast<double>(value<float>(doubles(a[2])));
    const double largest = extreme(gram, unknowns, pitch + 1, true);
    double* factor = room(first, std::int64_t{unknowns} * pitch);
    double* solution = room(second, std::int64_t{unknowns} * outputs);
    int size = 0;
    check(lib.cusolverDnDpotrf_bufferSize(solver, CUBLAS_FILL_MODE_UPPER, unknowns, factor, pitch, &size));
    double* work = room(third, size + 1);
    int* state = reinterpret_cast<int*>(work + size);
    const Info info = with_ridge(asked, largest, [&](double ridge) {
      // The lower triangle row after row is the upper one column after column.
      copy(factor, gram, std::int64_t{unknowns} * pitch);
      if (ridge > 0.0) add(factor, unknowns, pitch + 1, ridge);
      check(lib.cusolverDnDpotrf(solver, CUBLAS_FILL_MODE_UPPER, unknowns, factor, pitch, work, size, state));
      if (value<int>(state) != 0) return false;
      const double least = extreme(factor, unknowns, pitch + 1, false);
      return least * least > kRankTolerance * largest;
    });
    if (info != Info::failed) {
      for (int l = 0; l < outputs; ++l) {
        copy(solution + std::int64_t{l} * unknowns, gram + (std::int64_t{unknowns} + l) * pitch, unknowns);
      }
      check(lib.cusolverDnDpotrs(solver, CUBLAS_FILL_MODE_UPPER, unknowns, outputs, factor, pitch, solution, unknowns,
                                 state));
      transpose(solution, unknowns, unknowns, outputs, x);
    }
    finish(info, largest, x, std::int64_t{unknowns} * outputs, doubles(a[3]));
  }

  void least_squares(const std::vector<void*>& a) {
    double* columns = doubles(a[0]);
    double* x = doubles(a[1]);
    const int rows = whole(a[4]), unknowns = whole(a[5]), outputs = whole(a[6]), pitch = whole(a[7]);
    const double asked = static_cast<double>(value<float>(doubles(a[2])));
    double* copied = room(first, std::int64_t{unknowns + outputs} * pitch);
    double* y = copied + std::int64_t{unknowns} * pitch;
    double* tau = room(second, unknowns);
    int factor_size = 0, apply_size = 0;
    check(lib.cusolverDnDgeqrf_bufferSize(solver, rows + unknowns, unknowns, copied, pitch, &factor_size));
    check(lib.cusolverDnDormqr_bufferSize(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, rows + unknowns, outputs, unknowns,
                                          copied, pitch, tau, y, pitch, &apply_size));
    const int size = std::max(factor_size, apply_size);
    double* work = room(third, size + 1);
    int* state = reinterpret_cast<int*>(work + size);
    int used = rows;  // rows of the last factorisation
    const auto factorise = [&](double ridge) {
      copy(copied, columns, std::int64_t{unknowns + outputs} * pitch);
      used = rows;
      if (ridge > 0.0) {
        // Below A and Y: sqrt(ridge) times the identity, and zeros.
        used = rows + unknowns;
        context->check(context->driver().cuMemsetD2D8Async(
                           address(copied + rows), static_cast<std::size_t>(pitch) * sizeof(double), 0,
                           static_cast<std::size_t>(unknowns) * sizeof(double),
                           static_cast<std::size_t>(unknowns) + static_cast<std::size_t>(outputs), context->stream()),
                       "cannot fill memory");
        add(copied + rows, unknowns, pitch + 1, std::sqrt(ridge));
      }
      if (used < unknowns) return false;  // fewer rows than unknowns have no full rank
      check(lib.cusolverDnDgeqrf(solver, used, unknowns, copied, pitch, tau, work, size, state));
      return true;
    };
    const auto full_rank = [&](double largest) {
      const double least = extreme(copied, unknowns, pitch + 1, false);
      return least * least > kRankTolerance * largest;
    };
    // Without a ridge the largest element of the factor stands for the longest column: to know that one takes longer
    // than to factorise a small A.
    double largest = 0.0;
    Info info = Info::failed;
    if (asked == 0.0 && factorise(0.0)) {
      const double top = extreme(copied, unknowns, pitch + 1, true);
      if (top > 0.0 && std::isfinite(top) && full_rank(top * top)) info = Info::solved;
    }
    if (info == Info::failed) {
      for (int p = 0; p < unknowns; ++p) {
        double norm = 0.0;
        check(lib.cublasDnrm2(blas, rows, columns + std::int64_t{p} * pitch, 1, &norm));
        largest = norm * norm > largest || std::isnan(norm) ? norm * norm : largest;
      }
      const auto attempt = [&](double ridge) { return ridge > 0.0 && factorise(ridge) && full_rank(largest); };
      info = with_ridge(asked, largest, attempt);
    }
    if (info != Info::failed) {
      constexpr double kOne = 1.0;
      check(lib.cusolverDnDormqr(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, used, outputs, unknowns, copied, pitch, tau, y,
                                 pitch, work, size, state));
      check(lib.cublasDtrsm(blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, unknowns,
                            outputs, &kOne, copied, pitch, y, pitch));
      transpose(y, pitch, unknowns, outputs, x);
    }
    finish(info, largest, x, std::int64_t{unknowns} * outputs, doubles(a[3]));
  }

  const Libraries& lib = libraries();
  std::shared_ptr<const CudaContext> context;
  CudaMemory one;
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
  std::unique_ptr<CudaMemory> first, second, third;
};

CudaRoutines::CudaRoutines(std::shared_ptr<const CudaContext> context)
    : implementation_(std::make_unique<Implementation>(std::move(context))) {}
CudaRoutines::~CudaRoutines() = default;

void CudaRoutines::require(std::string_view name) {
  if (name != kNormalEquations && name != kLeastSquares && name != kMatrixProduct)
    refuse(fmt::format("cuda: no routine '{}'", name));
}

void CudaRoutines::run(std::string_view name, const std::vector<void*>& arguments) {
  if (name == kNormalEquations) {
    implementation_->normal_equations(arguments);
  } else if (name == kMatrixProduct) {
    implementation_->matrix_product(arguments);
  } else {
    implementation_->least_squares(arguments);
  }
}

}  // namespace heddle
